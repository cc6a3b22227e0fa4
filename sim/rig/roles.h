/* Roles: which node is which bone of a person, guessed from names where the file does not say.
 *
 * Names of the common rigs: VRM and VRoid, Mixamo, Unreal's mannequin, Quaternius, Rigify, the CMU
 * library in its dialects, mocopi, KayKit, 3ds Max Biped, Poser. A name is cut into words, its side
 * and the words that rigs put before every name are taken out, and what is left is looked up. The
 * bones between hips and neck are the spine, by their place and not their names.
 */
#pragma once

#include "sim/rig.h"

/* Fills rig->role, is_humanoid, is_guessed and forward of a finished rig that has no roles, where
 * names give legs and arms. `temp` is scratch. */
NODISCARD Status roles_guess(Rig *rig, Arena *temp, Error *err);
