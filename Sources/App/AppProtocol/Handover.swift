/// How the device moves from one network to another.
public enum Handover: Sendable, Hashable {
    /// The device joins and validates the next network before it leaves the current one.
    case makeBeforeBreak
    /// The device leaves the current network first.
    case breakBeforeMake(Obstacle)

    public var isMakeBeforeBreak: Bool { self == .makeBeforeBreak }

    /// Reason why the device cannot have a second link.
    public enum Obstacle: String, Sendable, CaseIterable, Codable {
        /// The hardware supports two links on two channels, but no spare interface is configured.
        case notSet
        case oneLink
        case oneChannel
        case radioMissing
        case spareMissing
        case spareNotReady

        public var text: String {
            switch self {
            case .notSet: "no spare interface is set; the radio could carry two links"
            case .oneLink: "the radio carries one link at a time"
            case .oneChannel: "the radio uses one channel at a time"
            case .radioMissing: "the radio is missing"
            case .spareMissing: "the spare interface is missing"
            case .spareNotReady: "the spare interface is down, or has no wpa_supplicant"
            }
        }
    }
}

extension Handover: CustomStringConvertible {
    public var description: String {
        switch self {
        case .makeBeforeBreak: "make before break"
        case .breakBeforeMake(let obstacle): "break before make: \(obstacle.text)"
        }
    }
}

extension Handover: Codable {
    private enum CodingKeys: String, CodingKey {
        case mode, obstacle
    }

    private enum Mode: String, Codable {
        case makeBeforeBreak, breakBeforeMake
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(Mode.self, forKey: .mode) {
        case .makeBeforeBreak: self = .makeBeforeBreak
        case .breakBeforeMake: self = .breakBeforeMake(try container.decode(Obstacle.self, forKey: .obstacle))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .makeBeforeBreak: try container.encode(Mode.makeBeforeBreak, forKey: .mode)
        case .breakBeforeMake(let obstacle):
            try container.encode(Mode.breakBeforeMake, forKey: .mode)
            try container.encode(obstacle, forKey: .obstacle)
        }
    }
}
