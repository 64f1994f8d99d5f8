import AgentModel

/// The state that a client sees (Improv 2.4, "Current State").
public enum ImprovState: UInt8, Sendable, CaseIterable {
    case authorizationRequired = 1
    case authorized = 2
    case provisioning = 3
    case provisioned = 4
}

/// What a client is told of its last command (Improv 2.4, "Error State").
public enum ImprovError: UInt8, Error, Sendable, CaseIterable {
    case none = 0
    case invalidPacket = 1
    case unknownCommand = 2
    case unableToConnect = 3
    case notAuthorized = 4
    case badHostName = 5
    case unknown = 0xff
}

/// What the device can do (Improv 2.4, "Capabilities").
public struct ImprovCapabilities: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let identify = ImprovCapabilities(rawValue: 1 << 0)
    public static let deviceInfo = ImprovCapabilities(rawValue: 1 << 1)
    public static let scan = ImprovCapabilities(rawValue: 1 << 2)
}

/// A command of a client (Improv 2.4, "RPC Command").
public enum ImprovCommand: Sendable, Equatable {
    /// The password is nil for an open network.
    case join(ssid: SSID, password: Secret?)
    /// Over BLE command 2.
    case identify
    /// Over serial command 2.
    case currentState
    case deviceInfo
    case scan
    case hostName
    case deviceName

    /// The number by which a result names the command.
    public enum Number: UInt8, Sendable, CaseIterable {
        case join = 1
        case identifyOrCurrentState = 2
        case deviceInfo = 3
        case scan = 4
        case hostName = 5
        case deviceName = 6
    }

    /// - Parameters:
    ///   - number: of the command.
    ///   - data: what follows its length.
    /// - Throws: `unknownCommand`, also for what the device does not let itself be told: its names.
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

/// The way in which a client talks to the device.
public enum ImprovMedium: Sendable, Hashable {
    case bluetooth
    case serial
}

/// The answer to a command: a list of texts (Improv 2.4, "RPC Result").
public struct ImprovResult: Sendable, Equatable {
    public let command: ImprovCommand.Number
    public let texts: [[UInt8]]

    /// A result names its length in one byte.
    public static let longestData = 255

    /// - Parameter texts: those that do not fit, with all after them, are left out.
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

    /// Command, length and data, without a checksum.
    var payload: [UInt8] {
        let data = texts.flatMap { [UInt8(clamping: $0.count)] + $0 }
        return [command.rawValue, UInt8(clamping: data.count)] + data
    }

    /// As the BLE characteristic has it.
    public var bytes: [UInt8] { payload + [checksum(payload)] }
}

/// The low byte of the sum of all bytes before it.
func checksum(_ bytes: some Sequence<UInt8>) -> UInt8 { bytes.reduce(0, &+) }

/// Puts together the command that one client writes over BLE, in pieces of 20 bytes or as many as it likes.
public struct ImprovAssembler: Sendable {
    /// Command, length, 255 bytes and the checksum.
    public static let longestPacket = 258
    /// A packet that was begun, and of which nothing more has come for this long, is none.
    public static let patience = Duration.seconds(5)

    private var bytes: [UInt8] = []
    private var lastPiece: Instant?

    public init() {}

    public var isEmpty: Bool { bytes.isEmpty }

    /// - Parameter offset: where the client says that the piece belongs; nil where it does not say.
    /// - Returns: the command, nil while there is more to come.
    /// - Throws: `invalidPacket` or `unknownCommand`. What was there is dropped then, and the next piece begins a packet.
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
            // A piece from the middle of a packet: what it takes for a length would have the next packet lost as well.
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
