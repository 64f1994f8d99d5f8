import Glibc

/// A network namespace: what makes one kernel into several machines that only meet in the air.
struct NetworkNamespace: Sendable {
    let name: String

    /// Runs `body` with the calling thread in the namespace. Sockets opened and programs started there stay there.
    ///
    /// `body` cannot suspend, so it begins and ends on one thread, which is all that a namespace applies to.
    func enter<Value>(_ body: () throws(LabError) -> Value) throws(LabError) -> Value {
        let outside = try FileDescriptor.open("/proc/thread-self/ns/net", O_RDONLY)
        let inside = try FileDescriptor.open("/run/netns/\(name)", O_RDONLY)
        try Self.move(into: inside, named: name)
        let result = Result { () throws(LabError) in try body() }
        try Self.move(into: outside, named: "the lab's own")
        return try result.get()
    }

    /// Whether somebody accepts connections at this address of the namespace's own; such an answer comes at once.
    func isListening(_ address: IPv4Address, port: UInt16) throws(LabError) -> Bool {
        let socket = try enter { () throws(LabError) in try FileDescriptor.socket(AF_INET, SOCK_STREAM) }
        let result = address.withSocketAddress(port: port) { connect(socket.number, $0, $1) }
        guard result != 0, errno == EINPROGRESS else { return result == 0 }
        var entry = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, 0) == 1 && Int32(entry.revents) & (POLLERR | POLLHUP) == 0
    }

    private static func move(into namespace: FileDescriptor, named name: String) throws(LabError) {
        // Glibc's module for Swift hides what needs _GNU_SOURCE, setns(2) among it.
        typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
        guard let symbol = dlsym(nil, "setns") else { throw .unavailable(reason: "the C library has no setns") }
        let setNamespace = unsafeBitCast(symbol, to: SetNamespace.self)
        let cloneNewNet: Int32 = 0x4000_0000  // linux/sched.h
        guard setNamespace(namespace.number, cloneNewNet) == 0 else {
            throw .lastCall("enter network namespace \(name)")
        }
    }
}
