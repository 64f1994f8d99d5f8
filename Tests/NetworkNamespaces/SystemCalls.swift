import Glibc

// What the C library has and its Swift module leaves out, because it is Linux's own or takes any number of arguments.

func unshareNetwork() -> Bool { call("unshare", networkNamespace) }

func enterNetwork(_ descriptor: Int32) -> Bool { call("setns", descriptor, networkNamespace) }

/// Changes the effective user of this thread only; the C library's own function changes all threads.
public func setThreadUser(_ user: uid_t) -> Bool {
    typealias Syscall = @convention(c) (Int, Int, Int, Int) -> Int
    #if arch(x86_64)
        let setresuid = 117
    #else
        let setresuid = 147
    #endif
    guard let function = dlsym(nil, "syscall") else { return false }
    return unsafeBitCast(function, to: Syscall.self)(setresuid, -1, Int(user), -1) == 0
}

/// `CLONE_NEWNET`.
private let networkNamespace: Int32 = 0x4000_0000

private func call(_ name: String, _ first: Int32, _ second: Int32 = 0) -> Bool {
    typealias Function = @convention(c) (Int32, Int32) -> Int32
    guard let function = dlsym(nil, name) else { return false }
    return unsafeBitCast(function, to: Function.self)(first, second) == 0
}
