/* Text for people: one line that a terminal shows as it is, and that does not lose its end. */
#ifndef CUD_TEXT_H
#define CUD_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes of the UTF-8 character at s (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF), 0 if it is none. */
size_t cud_text_utf8(const char *s);
/* The same, of a character that is shown and moves nothing: no control, no line separator, no change of direction. */
size_t cud_text_printable(const char *s);
/* In place: bytes that are no part of a printable character become '?'. */
char *cud_text_clean(char *text);
/* In place: at most room - 1 bytes; room is 256 or more.  The middle of long words (paths) is left out first
 * ("/data/...s/x.npy"), for what a line says stands at its ends; then the line's own middle. */
void cud_text_fit(char *text, size_t room);
/* Formats, cleans, fits: a line of messages. */
void cud_text_line(char *text, size_t room, const char *format, va_list args) __attribute__((format(printf, 3, 0)));

/* For messages: text clean, its middle left out if it is long. */
#define CUD_TEXT_SHOWN 200
const char *cud_text_shown(const char *text, char shown[CUD_TEXT_SHOWN]);
/* The whole text, clean. */
void cud_text_put(const char *text, FILE *to);

#define CUD_TEXT_WIDTH 79                  /* columns that any terminal has */
/* The words of text, the first at column `at`, in lines that start at column indent; ends the last. */
void cud_text_wrap(const char *text, int at, int indent, FILE *to);

#endif
