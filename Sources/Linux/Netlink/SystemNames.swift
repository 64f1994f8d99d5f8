import AgentModel
import CNetlink
import Glibc
import Synchronization

/// The system's resolver. A lookup blocks while name servers do not answer, so each lookup has its own thread.
enum SystemNames {
    /// Maximum number of concurrent lookups. A lookup may hang long after its caller has timed out.
    private static let limit = 4
    private static let underWay = Mutex(0)

    /// - Returns: current addresses of the name in order of preference (RFC 6724); empty on failure or if too many
    ///   lookups hang.
    static func addresses(of name: String) async -> [IPAddress] {
        let isAllowed = underWay.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
        guard isAllowed else { return [] }
        defer { underWay.withLock { $0 -= 1 } }
        return await withCheckedContinuation { NameQuestion(name, $0).ask() }
    }

    fileprivate static func resolve(_ name: String) -> [IPAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        // Restricts the result to one entry per address.
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &found) == 0 else { return [] }
        defer { freeaddrinfo(found) }
        var addresses: [IPAddress] = []
        var entry = found
        while let current = entry?.pointee {
            if let address = current.ai_addr, let address = IPAddress(address) { addresses.append(address) }
            entry = current.ai_next
        }
        return addresses
    }
}

private final class NameQuestion: Sendable {
    private let name: String
    private let continuation: CheckedContinuation<[IPAddress], Never>

    init(_ name: String, _ continuation: CheckedContinuation<[IPAddress], Never>) {
        (self.name, self.continuation) = (name, continuation)
    }

    func ask() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let failure = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let question = Unmanaged<NameQuestion>.fromOpaque(context).takeRetainedValue()
                question.continuation.resume(returning: SystemNames.resolve(question.name))
                return nil
            }, context.toOpaque())
        guard failure == 0 else {
            context.release()
            return continuation.resume(returning: [])
        }
        pthread_detach(thread)
    }
}

extension IPAddress {
    /// Reads an address; nil for other families. Drops the scope of link-local addresses.
    fileprivate init?(_ address: UnsafeMutablePointer<sockaddr>) {
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            var bytes = raw.loadUnaligned(as: sockaddr_in.self).sin_addr
            self.init(bytes: withUnsafeBytes(of: &bytes) { Array($0) })
        case AF_INET6:
            var bytes = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            self.init(bytes: withUnsafeBytes(of: &bytes) { Array($0) })
        default: return nil
        }
    }
}
