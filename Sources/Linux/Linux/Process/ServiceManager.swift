import AgentModel
import Glibc

/// Sends the state of this process to its service manager (sd_notify(3)).
package struct ServiceManager: Sendable {
    package enum State: Sendable, Equatable {
        case ready
        case stopping
        /// Start of a reload of the settings, which ends with `ready`. `at` is the time of `CLOCK_MONOTONIC`.
        case reloading(at: Duration)
        case alive
        /// Status in one line for the user.
        case status(String)
    }

    private let address: Address

    /// - Parameter socket: `$NOTIFY_SOCKET`: a path, or `@` and an abstract name (unix(7)).
    /// - Returns: nil without a socket, or for an unsupported address.
    package init?(socket: String?) {
        guard let socket, let address = Address(socket) else { return nil }
        self.address = address
    }

    /// Sends states to the manager. Waits at most a second for a busy manager. Errors are ignored.
    package func notify(_ states: State...) {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let text = Array(states.map(\.assignment).joined(separator: "\n").utf8)
        address.withSocketAddress { pointer, length in
            _ = sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), pointer, length)
        }
    }

    private struct Address: Sendable {
        /// Bytes of `sun_path`. An abstract name begins with a zero byte.
        let name: [UInt8]

        init?(_ socket: String) {
            var name = Array(socket.utf8)
            guard name.count > 1, name.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
            switch name[0] {
            case UInt8(ascii: "/"): name.append(0)
            case UInt8(ascii: "@"): name[0] = 0
            default: return nil
            }
            self.name = name
        }

        func withSocketAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + name.count } ?? 0
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
            }
        }
    }
}

extension ServiceManager.State {
    fileprivate var assignment: String {
        switch self {
        case .ready: "READY=1"
        case .stopping: "STOPPING=1"
        case .reloading(let moment): "RELOADING=1\nMONOTONIC_USEC=\(moment.microseconds)"
        case .alive: "WATCHDOG=1"
        case .status(let line): "STATUS=\(line.printable)"
        }
    }
}

extension Duration {
    fileprivate var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }

    /// Time of `CLOCK_MONOTONIC`, which systemd uses.
    package static var sinceBoot: Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
