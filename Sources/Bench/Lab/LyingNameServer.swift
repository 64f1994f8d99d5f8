import AgentModel
@preconcurrency import Dispatch  // Its sources may be used from any thread; they do not say so.
import Glibc

/// How name servers answer those who ask through an access point.
public enum NameService: Hashable, Sendable {
    /// As the internet's own does.
    case right
    /// Not at all.
    case silent
    /// That they cannot (SERVFAIL).
    case failing
    /// That there is no such name (NXDOMAIN).
    case denying
    /// That every name is at this address.
    case everythingAt(IPv4Address)
}

/// A name server that has one answer to every question (RFC 1035).
final class LyingNameServer: Sendable {
    private static let queue = DispatchQueue(label: "lab.names")
    private let source: any DispatchSourceRead

    /// Listens on UDP port 53 in the namespace of the calling thread; nil for services that are none of its own.
    init?(_ service: NameService) throws(LabError) {
        let lie: ([UInt8]) -> [UInt8]?
        switch service {
        case .right, .silent: return nil
        case .failing: lie = { Self.answer(to: $0, code: 2) }
        case .denying: lie = { Self.answer(to: $0, code: 3) }
        case .everythingAt(let address): lie = { Self.answer(to: $0, code: 0, address: address) }
        }
        let socket = try FileDescriptor.socket(AF_INET, SOCK_DGRAM)
        guard IPv4Address(value: 0).withSocketAddress(port: 53, { bind(socket.number, $0, $1) }) == 0 else {
            throw .lastCall("listen on port 53")
        }
        source = DispatchSource.makeReadSource(fileDescriptor: socket.number, queue: Self.queue)
        source.setEventHandler { Self.answer(on: socket.number, lie) }
        // A descriptor must stay open until its source is through with it.
        source.setCancelHandler { withExtendedLifetime(socket) {} }
        source.resume()
    }

    func end() { source.cancel() }

    private static func answer(on socket: Int32, _ lie: ([UInt8]) -> [UInt8]?) {
        var question = [UInt8](repeating: 0, count: 512)
        var sender = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &sender) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let count = recvfrom(socket, &question, question.count, 0, address, &length)
                guard count > 0, let answer = lie(Array(question.prefix(count))) else { return }
                _ = sendto(socket, answer, answer.count, 0, address, length)
            }
        }
    }

    /// The first question back with this code and, if it is for an IPv4 address, with this one; nil if there is none.
    private static func answer(to question: [UInt8], code: UInt8, address: IPv4Address? = nil) -> [UInt8]? {
        guard question.count >= 17, let root = question[12...].firstIndex(of: 0), root + 4 < question.count else {
            return nil
        }
        let isForIPv4 = question[root + 1] == 0 && question[root + 2] == 1
        let record: [UInt8]? = address.flatMap { address in
            guard isForIPv4 else { return nil }
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: address.value >> (24 - 8 * $0)) }
            // The name of the question, A, IN, for a minute.
            return [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4] + bytes
        }
        let counts: [UInt8] = [0, 1, 0, record == nil ? 0 : 1, 0, 0, 0, 0]
        let head = question[0..<2] + [0x80 | question[2], 0x80 | code] + counts
        return Array(head + question[12...(root + 4)]) + (record ?? [])
    }
}
