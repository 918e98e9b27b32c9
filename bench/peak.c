/* peak PREFIX PROGRAM [ARGUMENT]...: runs the program and writes the bytes of its greatest resident memory to PREFIX<rank>.
 * Linux begins the count with what the process had before it became the program, so this one is as small as can be. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}, *rank = NULL;
    char path[4096];
    struct rusage usage;
    int status = 0;
    if (argc < 3)
        return 2;
    const pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return 1;
    for (int i = 0; i < 3 && !rank; i++)
        rank = getenv(names[i]);
    snprintf(path, sizeof path, "%s%s", argv[1], rank ? rank : "0");
    FILE *const f = fopen(path, "w");
    if (!f || fprintf(f, "%lld", 1024LL * usage.ru_maxrss) < 0 || fclose(f))
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
