/// One end of a tunnel: an app's TLS connection with the device, in messages over the broker.
///
/// A piece is four bytes with its number, from 0 and big-endian, and bytes of the connection. A beat has no bytes, but
/// the number of the next piece. An empty message ends the tunnel. TLS detects pieces that the broker has forged.
public struct TunnelStream: Sendable, Equatable {
    public enum Received: Sendable, Equatable {
        case bytes([UInt8])
        case beat
        /// The message is a repetition, as QoS 1 permits.
        case repeated
        /// The other end has closed the tunnel, or a piece is lost or too large.
        case end
    }

    private var next: UInt32 = 0
    private var expected: UInt32 = 0

    public init() {}

    public static let end: [UInt8] = []

    public var beat: [UInt8] { Self.bytes(of: next) }

    public mutating func pieces(of bytes: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: BridgeLimits.tunnelPiece).map { start in
            defer { next &+= 1 }
            return Self.bytes(of: next) + bytes[start..<min(start + BridgeLimits.tunnelPiece, bytes.count)]
        }
    }

    public mutating func receive(_ message: [UInt8]) -> Received {
        guard (4...BridgeLimits.tunnelPiece + 4).contains(message.count) else { return .end }
        let number = message[..<4].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        guard number == expected else { return number < expected ? .repeated : .end }
        guard message.count > 4 else { return .beat }
        expected &+= 1
        return .bytes(Array(message[4...]))
    }

    private static func bytes(of number: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }
}
