/* What the tests of the emulator are where there is no nvcc. */
#include <stdio.h>

int main(void)
{
    puts("1..0 # SKIP built without nvcc");
    return 0;
}
