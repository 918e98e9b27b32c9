/* What MPI itself costs: starts and ends it as cudist does, and does nothing. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int got;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &got);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
