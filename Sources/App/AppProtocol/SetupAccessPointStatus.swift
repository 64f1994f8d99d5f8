import AgentModel

/// The setup access point: `rescue` in `network.get`, answer to `rescue.open` and `rescue.close`.
public struct SetupAccessPointStatus: Sendable, Equatable {
    public var isOpen: Bool
    public var ssid: SSID
    /// Time since which the device needs the access point; nil if it does not. The access point stays closed while the
    /// radio joins a network, and after a `problem`.
    public var since: Timestamp?
    /// Reason of the need: `neverProvisioned`, `onlyManual`, `nothingSeen`, `nothingWorks`, `button` or `command`. New
    /// ones may be added.
    public var why: String?
    /// Radio that the access point uses: `beside` the station on its radio, `instead` of the station, or on a `second`
    /// radio. New values may be added. Nil while closed.
    public var radio: String?
    /// Number of associated stations; nil while closed.
    public var stations: Int?
    /// Seconds until the access point closes automatically; nil if unknown.
    public var closesIn: Int?
    /// Reason why the access point cannot be opened, as a sentence.
    public var problem: String?

    public init(
        isOpen: Bool, ssid: SSID, since: Timestamp? = nil, why: String? = nil, radio: String? = nil,
        stations: Int? = nil, closesIn: Int? = nil, problem: String? = nil
    ) {
        (self.isOpen, self.ssid, self.since, self.why) = (isOpen, ssid, since, why)
        (self.radio, self.stations, self.closesIn, self.problem) = (radio, stations, closesIn, problem)
    }
}

extension SetupAccessPointStatus: Codable {
    private enum CodingKeys: String, CodingKey { case open, since, why, radio, stations, closesIn, problem }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            isOpen: try container.decode(Bool.self, forKey: .open),
            ssid: try decoder.ssid(),
            since: try container.decodeIfPresent(Timestamp.self, forKey: .since),
            why: try container.decodeIfPresent(String.self, forKey: .why),
            radio: try container.decodeIfPresent(String.self, forKey: .radio),
            stations: try container.decodeIfPresent(Int.self, forKey: .stations),
            closesIn: try container.decodeIfPresent(Int.self, forKey: .closesIn),
            problem: try container.decodeIfPresent(String.self, forKey: .problem))
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isOpen, forKey: .open)
        try container.encodeIfPresent(since, forKey: .since)
        try container.encodeIfPresent(why, forKey: .why)
        try container.encodeIfPresent(radio, forKey: .radio)
        try container.encodeIfPresent(stations, forKey: .stations)
        try container.encodeIfPresent(closesIn, forKey: .closesIn)
        try container.encodeIfPresent(problem, forKey: .problem)
    }
}

/// Body of `rescue.open`.
public struct SetupAccessPointRequest: Sendable, Equatable, Codable {
    public var isButton: Bool

    public init(isButton: Bool = false) { self.isButton = isButton }

    private enum CodingKeys: String, CodingKey { case isButton = "button" }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        isButton = try container.decodeIfPresent(Bool.self, forKey: .isButton) ?? false
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if isButton { try container.encode(true, forKey: .isButton) }
    }
}
