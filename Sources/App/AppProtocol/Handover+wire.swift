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
