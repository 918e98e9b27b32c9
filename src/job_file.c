/* Job files: KEY = VALUE lines.  Read whole, so that one may come through a pipe and a line may have any length. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "options.h"
#include "text.h"
#include "value.h"

#define FILE_MOST (1 << 20)
#define ORIGIN (PATH_MAX + 16)
#define OPTIONS_MOST 64                    /* more than the table has */

struct parse {
    const char *path;
    struct cud_reading *r;
    int line;
    int said[OPTIONS_MOST];                /* by option: the line it was given on */
};

/* A pipe's writer may be slow, or not there yet, or never come.  *end: it has come and gone. */
static enum cud_status await(int fd, const char *path, double seconds, bool *end, struct cud_err *err)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    const double ms = 1000 * seconds;
    const int got = poll(&ready, 1, seconds <= 0 ? -1 : ms < INT_MAX ? (int)ms : INT_MAX);
    if (got == 0)
        return FAIL(err, CUD_EUSAGE, "job file %s: nothing was written into this pipe for %g s (--timeout)", path, seconds);
    *end = got > 0 && !(ready.revents & POLLIN);
    return CUD_OK;
}

/* Not fopen: that waits for a pipe's writer for ever. */
static enum cud_status read_all(int fd, const char *path, double wait, char text[FILE_MOST + 1], size_t *n, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct stat s;
    bool end = false;
    if (fstat(fd, &s))
        return FAIL(err, CUD_EUSAGE, "job file %s: %s", path, strerror(errno));
    while (!end && *n <= FILE_MOST) {
        const ssize_t got = read(fd, text + *n, FILE_MOST + 1 - *n);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return FAIL(err, CUD_EUSAGE, "job file %s: %s", path, strerror(errno));
        if (got > 0)
            *n += (size_t)got;
        else if (got == 0 && (*n > 0 || !S_ISFIFO(s.st_mode)))
            end = true;
        else
            TRY(await(fd, path, wait, &end, err));
    }
done:
    return status;
}

static enum cud_status slurp(const char *path, double wait, char **text, size_t *n, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char *made = malloc(FILE_MOST + 2);
    *n = 0;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        TRY(FAIL(err, CUD_EUSAGE, "job file %s: %s", path, strerror(errno)));
    if (!made)
        TRY(FAIL(err, CUD_EFAILED, "job file %s: no memory to read it", path));
    TRY(read_all(fd, path, wait, made, n, err));
    if (*n > FILE_MOST || memchr(made, '\0', *n))
        TRY(FAIL(err, CUD_EUSAGE, "%s is no job file: it %s (an input goes without --job)", path,
                 *n > FILE_MOST ? "has more than 1 MiB" : "is not a text"));
    made[*n] = '\0';
    *text = made;
    made = NULL;
done:
    if (fd >= 0)
        close(fd);
    free(made);
    return status;
}

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static char *trim(char *text)
{
    size_t n = strlen(text);
    while (n && blank(text[n - 1]))
        text[--n] = '\0';
    while (blank(*text))
        text++;
    return text;
}

/* The value behind a '=', in place: up to a comment, # after a blank.  A quoted parameter of a step, name='a #b', is left
 * alone; the quote in it's.npy starts nothing. */
static char *plain_value(char *text)
{
    char *c = text;
    for (; *c && (*c != '#' || (c > text && !blank(c[-1]))); c++) {
        bool opens = *c == '\'' && c > text && (c[-1] == '=' || c[-1] == ',');
        char *closes = opens ? strchr(c + 1, '\'') : NULL;
        if (closes)
            c = closes;
    }
    *c = '\0';
    return trim(text);
}

/* \n \r \t \\ and \xHH: the byte, and *from is behind it; 0: it is no escape. */
static char escaped(const char **from)
{
    static const char letters[] = "nrt\\", bytes[] = "\n\r\t\\";
    const char *const c = *from + 1, *const letter = *c ? strchr(letters, *c) : NULL;
    if (letter) {
        *from = c + 1;
        return bytes[letter - letters];
    }
    if (*c != 'x' || !isxdigit((unsigned char)c[1]) || !isxdigit((unsigned char)c[2]))
        return 0;
    *from = c + 3;
    return (char)strtoul((char[]){c[1], c[2], 0}, NULL, 16);
}

/* "a value", in place, to what is in it; "" in it is one quote.  Returns NULL, or what is wrong. */
static const char *unquote(char *text)
{
    char *to = text;
    const char *from = text + 1;
    while (*from && (*from != '"' || from[1] == '"')) {
        char c = *from;
        if (c == '\\')
            c = escaped(&from);
        else
            from += c == '"' ? 2 : 1;
        if (!c)
            return "in \"...\" a \\ begins \\n, \\r, \\t, \\xHH or \\\\, which is one \\";
        *to++ = c;
    }
    if (*from++ != '"')
        return "its quotes \"...\" do not end";
    const char *end = from;
    while (blank(*end))
        end++;
    if (*end && !(*end == '#' && end > from))
        return "more than a comment follows its quotes \"...\"";
    *to = '\0';
    return NULL;
}

static enum cud_status find_key(struct parse *p, const char *key, const struct cud_option **o, struct cud_err *err)
{
    char shown[CUD_TEXT_SHOWN];
    const char *bare = key + strspn(key, "-");
    if ((*o = cud_option_named(key, CUD_IN_FILE)))
        return CUD_OK;
    cud_text_shown(key, shown);
    if (cud_option_named(bare, CUD_IN_ANY) && !cud_option_named(bare, CUD_IN_FILE))
        return FAIL(err, CUD_EUSAGE, "%s:%d: '%s' cannot be in a job file: give it on the command line", p->path, p->line,
                    shown);
    const char *near = cud_option_nearest(bare, CUD_IN_FILE);
    if (near)
        return FAIL(err, CUD_EUSAGE, "%s:%d: unknown option '%s'; did you mean %s?", p->path, p->line, shown, near);
    return FAIL(err, CUD_EUSAGE, "%s:%d: unknown option '%s': lines are OPTION = VALUE, options are those of cudist --help",
                p->path, p->line, shown);
}

static enum cud_status check_twice(struct parse *p, const struct cud_option *o, struct cud_err *err)
{
    size_t i = 0;
    while (cud_option_at(i) != o)
        i++;
    if (o->many != CUD_ALL_STEPS && o->many != CUD_ALL_INPUTS && p->said[i])
        return FAIL(err, CUD_EUSAGE, "%s:%d: %s is given on line %d already: keep one of them", p->path, p->line, o->name,
                    p->said[i]);
    p->said[i] = p->line;
    return CUD_OK;
}

static enum cud_status read_line(struct parse *p, char *line, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_option *o = NULL;
    char origin[ORIGIN], said[ORIGIN + 400], shown[CUD_TEXT_SHOWN];
    size_t n = strcspn(line, "=#");
    char *value = line[n] == '=' ? line + n + 1 : NULL;
    line[n] = '\0';
    char *key = trim(line);
    if (!*key && !value)
        return CUD_OK;
    TRY(find_key(p, key, &o, err));
    TRY(check_twice(p, o, err));
    snprintf(origin, sizeof origin, "%s:%d", p->path, p->line);
    if (value) {
        value = value + strspn(value, " \t");
        const bool quoted = *value == '"';
        const char *const wrong = quoted ? unquote(value) : NULL;
        if (wrong)
            TRY(FAIL(err, CUD_EUSAGE, "%s: %s: %s", origin, key, wrong));
        value = quoted ? value : plain_value(value);
    }
    if (value ? !*value : !!o->value)
        TRY(FAIL(err, CUD_EUSAGE, "%s: %s needs a value: %s = %s", origin, key, key, o->value ? o->value : "yes"));
    snprintf(said, sizeof said, "%s: %.64s = %s", origin, key, cud_text_shown(value ? value : "yes", shown));
    status = cud_option_give(p->r, o, value, said, origin, err);
done:
    return status;
}

enum cud_status cud_job_file_read(const char *path, double wait, struct cud_reading *r, struct cud_err *err)
{
    struct parse p = {.path = path, .r = r};
    char *text = NULL, *next;
    size_t n;
    enum cud_status status = CUD_OK;
    TRY(slurp(path, wait, &text, &n, err));
    r->place = CUD_IN_FILE;
    next = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;      /* a byte order mark */
    while (status == CUD_OK && next) {
        char *line = strsep(&next, "\n");
        p.line++;
        status = read_line(&p, line, err);
    }
done:
    free(text);
    return status;
}
