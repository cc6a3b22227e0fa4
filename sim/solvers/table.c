#include "core/solver.h"

const SolverOps *solver_find(SimulationKind kind)
{
    static const SolverOps *const solvers[SIMULATION_KIND_COUNT] = {0};

    return solvers[kind];
}
