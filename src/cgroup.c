#include <stdio.h>
#include <string.h>
#include "cgroup.h"

#define ROOT "/sys/fs/cgroup"

/* "0::/user.slice" (version 2), "4:cpu,cpuacct:/docker/x" (version 1). */
void cud_cgroup_folder(const char *line, const char *controller, char folder[CUD_CGROUP_PATH])
{
    const size_t letters = strlen(controller);
    const char *const names = strchr(line, ':'), *const path = names ? strchr(names + 1, ':') : NULL;
    folder[0] = '\0';
    if (!path)
        return;
    const int n = (int)strcspn(path + 1, "\n");
    if (path == names + 1) {
        snprintf(folder, CUD_CGROUP_PATH, ROOT "%.*s", n, path + 1);
        return;
    }
    for (const char *c = names; c < path; c += 1 + strcspn(c + 1, ",:"))
        if (strncmp(c + 1, controller, letters) == 0 && (c[letters + 1] == ',' || c[letters + 1] == ':'))
            snprintf(folder, CUD_CGROUP_PATH, ROOT "/%s%.*s", controller, n, path + 1);
}

static void climb(char *folder, void (*look)(const char *folder, void *arg), void *arg)
{
    for (;;) {
        look(folder, arg);
        char *const slash = strrchr(folder, '/');
        if (!slash || strcmp(folder, ROOT) == 0)
            return;
        *slash = '\0';
    }
}

void cud_cgroup_each(const char *controller, void (*look)(const char *folder, void *arg), void *arg)
{
    char line[CUD_CGROUP_PATH], folder[CUD_CGROUP_PATH];
    FILE *const f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) {
        cud_cgroup_folder(line, controller, folder);
        if (folder[0])
            climb(folder, look, arg);
    }
    if (f)
        fclose(f);
}

void cud_cgroup_text(const char *folder, const char *name, char *text, size_t room)
{
    char path[CUD_CGROUP_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const f = fopen(path, "re");
    const size_t n = f ? fread(text, 1, room - 1, f) : 0;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (f)
        fclose(f);
}
