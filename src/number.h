/* Numbers as text. */
#ifndef CUD_NUMBER_H
#define CUD_NUMBER_H

#include <stdbool.h>

/* The shortest decimal text that reads back as the same double (or, when single, as the same float); "nan", "inf", "-inf". */
const char *cud_number_text(double value, bool single, char text[32]);

#endif
