/* The probe of a shared folder.  Its table, and what one rank finds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "probe.h"
#include "tap.h"

int main(int argc, char **argv)
{
    struct cud_ranks *ranks = NULL;
    struct cud_err err = {0};
    char folder[] = "/tmp/probe-XXXXXX";
    bool shared = false;
    ok(cud_probe_coherent(0x0bd00bd3) && cud_probe_coherent(0x47504653), "Lustre and GPFS may be written by several hosts");
    ok(!cud_probe_coherent(0x6969) && !cud_probe_coherent(0xef53) && !cud_probe_coherent(0x01021994),
       "NFS, ext4 and tmpfs may not");
    if (cud_ranks_start(&argc, &argv, &ranks, &err) != CUD_OK || !mkdtemp(folder))
        return ok(0, "no ranks: %s", err.text), done_testing();
    ok(cud_probe_shared(ranks, folder, &shared, &err) == CUD_OK && shared, "a folder is shared with oneself");
    ok(rmdir(folder) == 0, "nothing is left there");
    ok(cud_probe_shared(ranks, folder, &shared, &err) == CUD_OK && !shared, "a folder that is not there is not shared");
    const int failed = done_testing();
    return cud_ranks_finish(ranks, failed);
}
