import AgentModel

package struct WorldState: Codable, Hashable, Sendable {
    package struct AccessPoint: Codable, Hashable, Sendable {
        package var name: String
        package var ssid: SSID
        package var bssid: BSSID
        /// Frequency in MHz.
        package var frequency: Int
        package var on: Bool
        /// Signal at the device in dBm. Meaningful only while the access point is on.
        package var signal: Int
        /// State of the internet access: `online`, `captive` or `dead`.
        package var internet: String
        package var full: Bool
        /// Time from a join to an address, in milliseconds; nil if the access point gives out no addresses.
        package var addressMs: Int64?
        /// Whether the access point accepts the device's password for its network.
        package var admits: Bool
        package var joined: Bool
    }

    package var scenario: String
    /// Time since the world's start, in milliseconds.
    package var timeMs: Int64
    /// Distance of the device to the east, in metres.
    package var x: Double
    /// Distance of the device to the north, in metres.
    package var y: Double
    /// Uplink that carries the device's traffic instead of Wi-Fi: `wired`, `cellular` or `other`; nil for none.
    package var uplink: String?
    /// Whether the station in use has an address.
    package var hasAddress: Bool
    package var accessPoints: [AccessPoint]
}

extension WorldState.AccessPoint {
    private enum CodingKeys: String, CodingKey {
        case name, bssid, frequency, on, signal, internet, full, addressMs, admits, joined
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: try container.decode(String.self, forKey: .name), ssid: try SSID(from: decoder),
            bssid: try container.decode(BSSID.self, forKey: .bssid),
            frequency: try container.decode(Int.self, forKey: .frequency),
            on: try container.decode(Bool.self, forKey: .on), signal: try container.decode(Int.self, forKey: .signal),
            internet: try container.decode(String.self, forKey: .internet),
            full: try container.decode(Bool.self, forKey: .full),
            addressMs: try container.decodeIfPresent(Int64.self, forKey: .addressMs),
            admits: try container.decode(Bool.self, forKey: .admits),
            joined: try container.decode(Bool.self, forKey: .joined))
    }

    package func encode(to encoder: any Encoder) throws {
        // Writes `ssid` or `ssidHex` next to the other keys.
        try ssid.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(bssid, forKey: .bssid)
        try container.encode(frequency, forKey: .frequency)
        try container.encode(on, forKey: .on)
        try container.encode(signal, forKey: .signal)
        try container.encode(internet, forKey: .internet)
        try container.encode(full, forKey: .full)
        try container.encodeIfPresent(addressMs, forKey: .addressMs)
        try container.encode(admits, forKey: .admits)
        try container.encode(joined, forKey: .joined)
    }
}

extension WorldState {
    init(_ device: SimulatedDevice, _ scenario: Scenario) {
        let (world, now) = (device.world, device.now)
        let joined = Set(device.stations.compactMap { $0.link?.accessPoint })
        let position = world.motion.step(at: now).value.position(at: now)
        self.init(
            scenario: scenario.name, timeMs: now, x: position.x, y: position.y,
            uplink: device.otherUplink?.rawValue, hasAddress: device.stations[device.inUse].link?.hasAddress ?? false,
            accessPoints: world.accessPoints.map { index in
                let (track, state) = (world.tracks[index], world.span(of: index, at: now).state)
                return AccessPoint(
                    name: scenario.accessPoints[index].name, ssid: track.ssid, bssid: track.bssid,
                    frequency: track.frequency.megahertz, on: state.isOn,
                    signal: Int(max(-127, min(0, world.signal(of: index, at: now))).rounded()),
                    internet: state.internet.rawValue, full: state.isFull,
                    addressMs: state.addressTime?.milliseconds, admits: state.admission == .admitted,
                    joined: joined.contains(index))
            })
    }
}
