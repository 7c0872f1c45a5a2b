/// What a child process must not keep of its parent: open files, sockets and locks.
#pragma once

namespace muster {

/// In a child made by fork(), before anything else opens a file: closes every descriptor but `kept` and `also_kept`
/// (-1: none). A pipe that stays open would keep its reader waiting, and a lock would outlive its owner. Standard
/// streams that were closed so become `/dev/null`; a kept descriptor below 3 remains that stream. Allocates nothing:
/// another thread of the parent may have held the heap's lock. Kernels without close_range: descriptors up to 65,535.
void close_inherited_descriptors(int kept, int also_kept = -1);

}  // namespace muster
