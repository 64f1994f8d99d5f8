// As long as a process lives, libdispatch looks every second whether its workers block, and makes more of them if they do
// (src/event/workqueue.c). That wakes a device that has nothing to do; and here those workers run Swift's tasks, which may not
// block. The two functions below are all that the rest of libdispatch calls in that file: where libdispatch is linked in, as in
// what ships, the linker takes these and leaves the file out. Elsewhere nobody calls them.

@_cdecl("_dispatch_workq_worker_register")
public func registerDispatchWorker(_ queue: UnsafeRawPointer) {}

@_cdecl("_dispatch_workq_worker_unregister")
public func unregisterDispatchWorker(_ queue: UnsafeRawPointer) {}
