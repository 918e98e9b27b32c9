#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text.h"

#define WORD_LEAST 200                     /* bytes of a long word that stay where two share the room */

size_t cud_text_utf8(const char *text)
{
    const unsigned char *const s = (const unsigned char *)text;
    const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    const unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (n > 1 && (s[1] < low || s[1] > high))
        return 0;
    for (size_t i = 2; i < n; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return n;
}

/* What a terminal obeys or a reader is misled by: controls (Unicode's C0, DEL, C1), separators of lines, marks that turn the
 * direction of text (Bidi_Control). */
static bool acts(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

size_t cud_text_printable(const char *s)
{
    const size_t n = cud_text_utf8(s);
    uint32_t c = (unsigned char)s[0];
    if (n > 1)
        c &= 0x7fu >> n;
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)s[i] & 0x3f);
    return n && !acts(c) ? n : 0;
}

char *cud_text_clean(char *text)
{
    for (char *s = text; *s;) {
        const size_t n = cud_text_printable(s);
        if (!n)
            *s = '?';
        s += n ? n : 1;
    }
    return text;
}

static bool continues(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

/* Which of n bytes to keep, at most `keep` and three dots: head at the start, those from *tail on at the end. */
static size_t cut(const char *text, size_t n, size_t keep, size_t *tail)
{
    size_t head = keep / 2;
    *tail = n - (keep - head);
    while (head > 0 && continues(text[head]))          /* not in the middle of an UTF-8 character */
        head--;
    while (*tail < n && continues(text[*tail]))
        ++*tail;
    return head;
}

static char *longest_word(char *text, size_t *n)
{
    char *longest = text;
    *n = 0;
    for (char *word = text; *word; word += strspn(word, " ")) {
        const size_t length = strcspn(word, " ");
        if (length > *n) {
            *n = length;
            longest = word;
        }
        word += length;
    }
    return longest;
}

void cud_text_fit(char *text, size_t room)
{
    static const char dots[] = "...";
    for (size_t all; (all = strlen(text)) >= room;) {
        const size_t more = all + 1 - room + strlen(dots);
        size_t n, tail;
        char *word = longest_word(text, &n);
        if (n <= WORD_LEAST + strlen(dots)) {
            word = text;
            n = all;
        }
        const size_t head = cut(word, n, n > more + WORD_LEAST ? n - more : WORD_LEAST, &tail);
        memcpy(word + head, dots, strlen(dots));
        memmove(word + head + strlen(dots), word + tail, strlen(word + tail) + 1);
    }
}

void cud_text_line(char *text, size_t room, const char *format, va_list args)
{
    char *whole = NULL;
    va_list again;
    va_copy(again, args);
    if (vasprintf(&whole, format, args) >= 0) {
        cud_text_fit(cud_text_clean(whole), room);
        strcpy(text, whole);
        free(whole);
    } else {                               /* no memory: the line's start */
        vsnprintf(text, room, format, again);
        cud_text_clean(text);
    }
    va_end(again);
}

const char *cud_text_shown(const char *text, char shown[CUD_TEXT_SHOWN])
{
    const size_t n = strlen(text);
    size_t head = n, tail = n;
    if (n >= CUD_TEXT_SHOWN)
        head = cut(text, n, CUD_TEXT_SHOWN - sizeof "...", &tail);
    memcpy(shown, text, head);
    strcpy(shown + head, head < n ? "..." : "");
    strcat(shown, text + tail);
    return cud_text_clean(shown);
}

void cud_text_put(const char *text, FILE *to)
{
    for (size_t n; *text; text += n ? n : 1) {
        n = cud_text_printable(text);
        if (n)
            fwrite(text, 1, n, to);
        else
            fputc('?', to);
    }
}

/* The letters of the word that text starts with; of a word longer than a line, up to its last comma that fits. */
static int word_letters(const char *text, int line)
{
    int n = (int)strcspn(text, " "), cut = line;
    if (n <= line)
        return n;
    while (cut > 1 && text[cut - 1] != ',')
        cut--;
    return cut > 1 ? cut : n;
}

void cud_text_wrap(const char *text, int at, int indent, FILE *to)
{
    for (const char *c = text; *c;) {
        int n = word_letters(c, CUD_TEXT_WIDTH - indent);
        const char *before = c > text && c[-1] == ' ' ? " " : "";
        if (at > indent && at + (int)strlen(before) + n > CUD_TEXT_WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
            before = "";
        }
        at += fprintf(to, "%s%.*s", before, n, c);
        c += n;
        c += strspn(c, " ");
    }
    fputc('\n', to);
}
