import Foundation
import Linux
import NIOCore
import NIOPosix

/// Two machines with two cables between them, of which the first one prefers one: two network namespaces, in each of which
/// one event loop lives, for a socket belongs to the namespace of the thread that makes it (network_namespaces(7)). They have
/// the tests' process to themselves (Makefile).
///
///     device  left 10.9.1.2, right 10.9.2.2        server  10.9.1.1, 10.9.2.1, on either way 10.9.9.9 and 2001:db8:9::9
struct TwoNamespaces {
    let device = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let server = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// Whether this process may have namespaces at all.
    static var isPossible: Bool {
        geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/sbin/ip")
    }

    init() async throws {
        let other = try await server.next().submit { try Self.leave() }.get()
        _ = try await device.next().submit { try Self.leave() }.get()
        try await run(
            on: device,
            """
            ip link set lo up
            ip link add left type veth peer name left1 netns \(other)
            ip link add right type veth peer name right1 netns \(other)
            ip address add 10.9.1.2/24 dev left
            ip address add 10.9.2.2/24 dev right
            ip address add 2001:db8:1::2/64 dev left nodad
            ip address add 2001:db8:2::2/64 dev right nodad
            ip link set left up
            ip link set right up
            """)
        try await run(
            on: server,
            """
            ip link set lo up
            ip address add 10.9.9.9/32 dev lo
            ip address add 2001:db8:9::9/128 dev lo nodad
            ip address add 10.9.1.1/24 dev left1
            ip address add 10.9.2.1/24 dev right1
            ip address add 2001:db8:1::1/64 dev left1 nodad
            ip address add 2001:db8:2::1/64 dev right1 nodad
            ip link set left1 up
            ip link set right1 up
            """)
        try await run(
            on: device,
            """
            ip route add default via 10.9.1.1 dev left metric 100
            ip route add default via 10.9.2.1 dev right metric 200
            ip route add default via 2001:db8:1::1 dev left metric 100
            ip route add default via 2001:db8:2::1 dev right metric 200
            """)
    }

    /// - Parameter lines: of a shell.
    func run(on group: MultiThreadedEventLoopGroup, _ lines: String) async throws {
        try await group.next().submit {
            let shell = try ChildProcess.start(
                "sh", ["-ec", lines], environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], output: .nothing)
            guard ChildProcess.wait(for: shell) == 0 else { throw POSIXError(.ENETDOWN) }
        }.get()
    }

    /// Nothing is left: a namespace goes with its last thread and socket.
    func end() async throws {
        try await device.shutdownGracefully()
        try await server.shutdownGracefully()
    }

    /// Has the calling thread leave the namespace that it is in for a new one.
    /// - Returns: the thread's number.
    private static func leave() throws -> String {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let symbol = dlsym(nil, "unshare") else { throw POSIXError(.ENOSYS) }
        // CLONE_NEWNET of sched.h
        guard unsafeBitCast(symbol, to: Unshare.self)(0x4000_0000) == 0 else { throw POSIXError(.EPERM) }
        let thread = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        return String(thread.split(separator: "/").last ?? "")
    }
}
