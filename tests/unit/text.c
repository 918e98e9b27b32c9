/* Lines for people: what a terminal would obey is not in them, and their ends stay. */
#include <stdlib.h>
#include <string.h>
#include "cudist/err.h"
#include "tap.h"
#include "text.h"

static void test_clean(void)
{
    static const struct { const char *text, *want, *what; } t[] = {
        {"", "", "nothing"},
        {"a b\\n'\"~", "a b\\n'\"~", "ASCII"},
        {"a\nb\x7f\tc\r", "a?b??c?", "controls"},
        {"\x1b[31mred\x1b]0;title\a", "?[31mred?]0;title?", "escape sequences"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "UTF-8"},
        {"\xc2\x9b" "2J", "??2J", "C1 controls"},
        {"\xe2\x80\xa8\xe2\x80\xa9", "??????", "separators of lines"},
        {"\xe2\x80\xaegnp.\xe2\x81\xa6\xd8\x9c", "???gnp.?????", "changes of direction"},
        {"\x80\xbf\xc0\xaf\xff\xfe", "??????", "bytes that begin nothing"},
        {"\xe0\x80\xaf\xf0\x80\x80\xaf", "???????", "overlong forms"},
        {"\xed\xa0\x80\xf4\x90\x80\x80", "???????", "surrogates, beyond the last"},
        {"a\xc3", "a?", "a character that is cut off"},
        {"\xe2\x82", "??", "another"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char text[64];
        strcpy(text, t[i].text);
        ok(strcmp(cud_text_clean(text), t[i].want) == 0, "clean: %s: %s", t[i].what, text);
    }
}

/* "/aaa.../x.npy" of n bytes. */
static const char *path(size_t n, char *text)
{
    memset(text, 'a', n);
    text[0] = '/';
    strcpy(text + n - 6, "/x.npy");
    return text;
}

static void test_fail(void)
{
    static char one[5000], two[5000], blanks[5000];
    struct cud_err err = {0};
    cud_fail(&err, "src/x.c", 3, CUD_EINPUT, "%s: %s", path(100, one), "No such file");
    ok(strlen(err.text) == 114 && strcmp(err.where, "x.c:3") == 0, "a path of 100 bytes stays");
    err = (struct cud_err){0};
    cud_fail(&err, "x.c", 3, CUD_EINPUT, "%s: %s", path(4095, one), "No such file");
    ok(strncmp(err.text, "/aaa", 4) == 0 && strstr(err.text, "aaa...aaa") && strstr(err.text, "/x.npy: No such file"),
       "of a path of 4095 bytes both ends and the reason stay");
    err = (struct cud_err){0};
    cud_fail(&err, "x.c", 3, CUD_EINPUT, "%s: is the input %s, and would be lost", path(4095, one), path(4000, two));
    ok(strstr(err.text, "/x.npy: is the input /aaa") && strstr(err.text, "/x.npy, and would be lost"),
       "two long paths: %zu bytes", strlen(err.text));
    for (size_t i = 0; i < 4094; i++)
        blanks[i] = i % 4 ? 'b' : ' ';
    err = (struct cud_err){0};
    cud_fail(&err, "x.c", 3, CUD_EINPUT, "%s: %s", blanks, "No such file");
    ok(strstr(err.text, "...") && strstr(err.text, ": No such file"), "a long path of short words");
    err = (struct cud_err){0};
    cud_fail(&err, "x.c", 3, CUD_EINPUT, "one\n%s", "\x1b[2J");
    ok(strcmp(err.text, "one??[2J") == 0, "an error is one line of text");
    cud_fail(&err, "x.c", 3, CUD_EFAILED, "two");
    ok(err.status == CUD_EINPUT && strcmp(err.text, "one??[2J") == 0, "the first error is kept");
}

/* Every length: it fits, keeps its ends, and no character is cut. */
static void test_fit(void)
{
    int good = 1;
    for (size_t n = 1; n < 700; n++) {
        char text[2400] = "";
        for (size_t i = 0; i < n; i++)
            strcat(text, n % 3 == 0 ? "\xe2\x82\xac" : n % 3 == 1 ? "a" : i % 10 == 9 ? " " : "\xc3\xbc");
        strcpy(text + strlen(text) - 1, text[strlen(text) - 1] == 'a' ? "z" : "");
        cud_text_clean(text);
        const size_t before = strlen(text);
        const char first = text[0];
        cud_text_fit(text, 300);
        const size_t after = strlen(text);
        good &= after < 300 && (before >= 300 ? after > 290 && strstr(text, "...") : after == before) && text[0] == first;
        char again[2400];
        strcpy(again, text);
        good &= strcmp(cud_text_clean(again), text) == 0;
    }
    ok(good, "texts of all lengths fit");
}

static void test_shown(void)
{
    char text[1000], shown[CUD_TEXT_SHOWN];
    ok(strcmp(cud_text_shown("a\nb\x7f\tc", shown), "a?b??c") == 0, "shown: control characters");
    for (size_t n = CUD_TEXT_SHOWN - 3; n <= CUD_TEXT_SHOWN + 1; n++) {
        memset(text, 'x', n);
        strcpy(text + n - 1, "z");
        const size_t length = strlen(cud_text_shown(text, shown));
        const int whole = length == n || strstr(shown, "x...x");
        ok(length < CUD_TEXT_SHOWN && whole && shown[length - 1] == 'z', "shown: %zu letters", n);
    }
    int good = 1;
    for (size_t shift = 0; shift < 4; shift++) {
        strcpy(text, &"aaa"[3 - shift]);
        for (size_t i = 0; i < 100; i++)
            strcat(text, "\xe2\x82\xac");
        good &= strchr(cud_text_shown(text, shown), '?') == NULL && strstr(shown, "...");
    }
    ok(good, "shown: no character is cut");
}

int main(void)
{
    test_clean();
    test_fail();
    test_fit();
    test_shown();
    return done_testing();
}
