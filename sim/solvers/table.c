#include "core/solver.h"

const SolverOps *solver_find(SimulationKind kind)
{
    static const SolverOps *const solvers[SIMULATION_KIND_COUNT] = {
        [SIMULATION_CHAINS] = &chains_solver,
    };

    return solvers[kind];
}
