#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "number.h"

/* Every decimal of DBL_DIG (FLT_DIG) digits survives the way to binary and back, so what a user wrote comes out as it was
 * written; denormals keep fewer digits, so there the search begins at one. */
const char *cud_number_text(double value, bool single, char text[32])
{
    if (!isfinite(value)) {
        snprintf(text, 32, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return text;
    }
    const double normal = single ? FLT_MIN : DBL_MIN;
    const int most = single ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
    for (int digits = fabs(value) < normal ? 1 : single ? FLT_DIG : DBL_DIG; digits <= most; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    return text;
}
