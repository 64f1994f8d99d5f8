import AgentModel

/// State for clients (Improv 2.4, "Current State").
public enum ImprovState: UInt8, Sendable, CaseIterable {
    case authorizationRequired = 1
    case authorized = 2
    case provisioning = 3
    case provisioned = 4
}

/// Result of the last command (Improv 2.4, "Error State").
public enum ImprovError: UInt8, Error, Sendable, CaseIterable {
    case none = 0
    case invalidPacket = 1
    case unknownCommand = 2
    case unableToConnect = 3
    case notAuthorized = 4
    case badHostName = 5
    case unknown = 0xff
}

/// Optional commands that the device supports (Improv 2.4, "Capabilities").
public struct ImprovCapabilities: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let identify = ImprovCapabilities(rawValue: 1 << 0)
    public static let deviceInfo = ImprovCapabilities(rawValue: 1 << 1)
    public static let scan = ImprovCapabilities(rawValue: 1 << 2)
}

/// A command of a client (Improv 2.4, "RPC Command").
public enum ImprovCommand: Sendable, Equatable {
    /// `password` is nil for an open network.
    case join(ssid: SSID, password: Secret?)
    /// Identifies the device: command 2 over BLE.
    case identify
    /// Asks for the current state: command 2 over serial.
    case currentState
    case deviceInfo
    case scan
    case hostName
    case deviceName

    /// Number of a command, also used in its result.
    public enum Number: UInt8, Sendable, CaseIterable {
        case join = 1
        case identifyOrCurrentState = 2
        case deviceInfo = 3
        case scan = 4
        case hostName = 5
        case deviceName = 6
    }

    /// - Parameter data: the bytes after the length.
    /// - Throws: `unknownCommand`, `invalidPacket`, or `badHostName` for an attempt to set the host name.
    public init(number: UInt8, data: ArraySlice<UInt8>, medium: ImprovMedium) throws(ImprovError) {
        guard let number = Number(rawValue: number) else { throw .unknownCommand }
        if number == .join {
            self = try Self.join(data)
            return
        }
        guard data.isEmpty else {
            switch number {
            case .hostName: throw .badHostName
            case .deviceName: throw .unknownCommand
            default: throw .invalidPacket
            }
        }
        self =
            switch number {
            case .join: throw .invalidPacket
            case .identifyOrCurrentState: medium == .bluetooth ? .identify : .currentState
            case .deviceInfo: .deviceInfo
            case .scan: .scan
            case .hostName: .hostName
            case .deviceName: .deviceName
            }
    }

    private static func join(_ data: ArraySlice<UInt8>) throws(ImprovError) -> ImprovCommand {
        var rest = data
        func text() throws(ImprovError) -> ArraySlice<UInt8> {
            guard let count = rest.popFirst().map(Int.init), count <= rest.count else { throw .invalidPacket }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        let (name, password) = (try text(), try text())
        guard rest.isEmpty, let ssid = try? SSID(bytes: name) else { throw .invalidPacket }
        return .join(ssid: ssid, password: password.isEmpty ? nil : Secret(password))
    }
}

public enum ImprovMedium: Sendable, Hashable {
    case bluetooth
    case serial
}

/// Answer to a command: a list of texts (Improv 2.4, "RPC Result").
public struct ImprovResult: Sendable, Equatable {
    public let command: ImprovCommand.Number
    public let texts: [[UInt8]]

    /// Maximum length of the data in bytes; the length field has one byte.
    public static let longestData = 255

    /// - Parameter texts: texts of the answer. The first text that does not fit and all later ones are dropped.
    public init(_ command: ImprovCommand.Number, _ texts: [[UInt8]] = []) {
        self.command = command
        var room = Self.longestData
        self.texts = Array(
            texts.prefix { text in
                room -= text.count + 1
                return room >= 0
            })
    }

    public init(_ command: ImprovCommand.Number, texts: [String]) { self.init(command, texts.map { Array($0.utf8) }) }

    /// Bytes of command, length and data, without checksum.
    var payload: [UInt8] {
        let data = texts.flatMap { [UInt8(clamping: $0.count)] + $0 }
        return [command.rawValue, UInt8(clamping: data.count)] + data
    }

    /// Bytes of the BLE characteristic, with checksum.
    public var bytes: [UInt8] { payload + [checksum(payload)] }
}

func checksum(_ bytes: some Sequence<UInt8>) -> UInt8 { bytes.reduce(0, &+) }

/// Assembles a command that a client writes over BLE in pieces of any size.
public struct ImprovAssembler: Sendable {
    /// Longest pause between two pieces. After it, the next piece begins a new packet.
    public static let patience = Duration.seconds(5)

    private var bytes: [UInt8] = []
    private var lastPiece: Instant?

    public init() {}

    public var isEmpty: Bool { bytes.isEmpty }

    /// - Parameter offset: offset of the piece in the packet; nil if unknown.
    /// - Returns: the command; nil while it is incomplete.
    /// - Throws: `ImprovError`. Earlier pieces are then dropped.
    public mutating func add(
        _ piece: some Collection<UInt8>, offset: Int? = nil, at now: Instant
    ) throws(ImprovError) -> ImprovCommand? {
        if let lastPiece, now - lastPiece > Self.patience { bytes = [] }
        lastPiece = now
        guard !piece.isEmpty, offset ?? 0 == 0 || offset == bytes.count else {
            clear()
            throw .invalidPacket
        }
        bytes += piece
        guard bytes.count >= 2 else { return nil }
        let length = Int(bytes[1]) + 3
        guard bytes.count >= length else {
            // Rejects a piece from the middle of a packet. Its second byte is not a length, and could consume the next
            // packet.
            guard ImprovCommand.Number(rawValue: bytes[0]) != nil else {
                clear()
                throw .invalidPacket
            }
            return nil
        }
        let packet = bytes
        clear()
        guard packet.count == length, checksum(packet.dropLast()) == packet.last else { throw .invalidPacket }
        return try ImprovCommand(number: packet[0], data: packet[2..<length - 1], medium: .bluetooth)
    }

    private mutating func clear() {
        bytes.withUnsafeMutableBytes { wipe($0) }
        bytes = []
        lastPiece = nil
    }
}
