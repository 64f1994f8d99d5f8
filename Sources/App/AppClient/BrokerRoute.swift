#if os(Linux) || os(macOS)
    import NIOCore
    import NIOPosix
#endif

#if canImport(Glibc)
    import CLinux
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The way to a device through its MQTT broker, by the program `altnet-mqtt tunnel`.
///
/// The session with the device runs inside, so the broker can neither read nor change it. iOS runs no programs.
public struct BrokerRoute: Sendable, Equatable {
    /// `mqtts://HOST[:PORT]`, or `mqtt://HOST[:PORT]` without TLS to the broker.
    public var broker: String
    /// First levels of the device's topics.
    public var prefix: String
    /// User name at the broker; nil for none.
    public var user: String?
    /// Path of the folder with ca.pem, certificate.pem, key.pem, password and psk, each optional; nil for
    /// `/etc/altnet/mqtt`.
    public var secrets: String?
    /// Path of `altnet-mqtt`, searched in `PATH` if it contains no slash.
    public var program = "altnet-mqtt"

    /// - Parameter url: address of the broker, and the prefix after a slash (default: `altnet`).
    public init(_ url: String, user: String? = nil, secrets: String? = nil) {
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        broker = parts.prefix(3).joined(separator: "/")
        prefix = parts.count == 4 && !parts[3].isEmpty ? String(parts[3]) : "altnet"
        (self.user, self.secrets) = (user, secrets)
    }

    /// The broker's address for messages. A password in it may contain a slash, and then its end is in the prefix.
    var shown: String { prefix.contains("@") ? "\(broker)/\(prefix)".withoutCredentials : broker.withoutCredentials }
}

#if os(Linux) || os(macOS)
    extension BrokerRoute {
        /// Starts the program with a socket as its standard input and output. The program ends when the channel closes.
        package func connect(
            to deviceId: String, with bootstrap: ClientBootstrap, on loop: any EventLoop
        ) -> EventLoopFuture<any Channel> {
            // The program's arguments are public.
            guard !broker.contains("@"), !prefix.contains("@") else {
                return loop.makeFailedFuture(IOError(errnoCode: EINVAL, reason: "the broker's address has a password"))
            }
            let options = (user.map { ["--user=\($0)"] } ?? []) + (secrets.map { ["--secrets=\($0)"] } ?? [])
            do {
                let (socket, pid) = try start(
                    ["tunnel", "--broker=\(broker)", "--prefix=\(prefix)", "--id=\(deviceId)"] + options)
                let channel = bootstrap.withConnectedSocket(socket)
                // Wait for the program's end, or the kernel keeps its process ID.
                channel.flatMap { $0.closeFuture }.whenComplete { _ in
                    NIOThreadPool.singleton.submit { _ in _ = waitpid(pid, nil, 0) }
                }
                return channel
            } catch {
                return loop.makeFailedFuture(error)
            }
        }

        private func start(_ arguments: [String]) throws -> (socket: CInt, pid: pid_t) {
            var sockets: [CInt] = [-1, -1]
            #if canImport(Glibc)
                let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            #elseif canImport(Musl)
                let kind = SOCK_STREAM | SOCK_CLOEXEC
            #else
                let kind = SOCK_STREAM
            #endif
            guard socketpair(AF_UNIX, kind, 0, &sockets) == 0 else {
                throw IOError(errnoCode: errno, reason: "make a socket")
            }
            defer { close(sockets[1]) }
            #if canImport(Darwin)
                var actions: posix_spawn_file_actions_t?
                var attributes: posix_spawnattr_t?
            #else
                var actions = posix_spawn_file_actions_t()
                var attributes = posix_spawnattr_t()
            #endif
            posix_spawn_file_actions_init(&actions)
            posix_spawnattr_init(&attributes)
            defer {
                posix_spawn_file_actions_destroy(&actions)
                posix_spawnattr_destroy(&attributes)
            }
            posix_spawn_file_actions_adddup2(&actions, sockets[1], 0)
            posix_spawn_file_actions_adddup2(&actions, sockets[1], 1)
            // SwiftNIO's sockets are inherited otherwise, and would outlive the app's connections.
            #if canImport(Glibc)
                posix_spawn_file_actions_addclosefrom_np(&actions, 3)
                let flags = POSIX_SPAWN_SETSIGMASK
            #elseif canImport(Darwin)
                let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT
            #else
                let flags = POSIX_SPAWN_SETSIGMASK
            #endif
            // Pool threads block signals. Signals could not end a program that inherits the mask.
            var signals = sigset_t()
            sigemptyset(&signals)
            posix_spawnattr_setsigmask(&attributes, &signals)
            posix_spawnattr_setflags(&attributes, Int16(flags))
            var argv: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
            // The program needs no environment, and the app's may contain secrets.
            var envp: [UnsafeMutablePointer<CChar>?] = [nil]
            defer { for text in argv { free(text) } }
            var pid: pid_t = 0
            let result = posix_spawnp(&pid, program, &actions, &attributes, &argv, &envp)
            guard result == 0 else {
                close(sockets[0])
                throw IOError(errnoCode: result, reason: "start \(program)")
            }
            return (sockets[0], pid)
        }
    }
#endif
