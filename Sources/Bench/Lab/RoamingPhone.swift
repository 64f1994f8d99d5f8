import AgentModel
import Glibc

/// A phone of its own: a radio with the real wpa_supplicant and a DHCP client in a network namespace, which joins what it is
/// told to join, such as the device's own access point.
public actor RoamingPhone {
    /// The radio and its namespace are those of an access point that is never switched on.
    private let place: AccessPoint
    private let directory: String
    private let name: String
    private var supplicant: Program?
    private var dhcpcd: Program?

    init(on place: AccessPoint, number: Int, directory: String) throws(LabError) {
        (self.place, self.directory) = (place, directory)
        name = "roaming-phone\(number)"
        try Lab.batch(
            ["address flush dev \(place.radio.interface)"], in: place.namespace, directory: directory)
    }

    /// Joins a network, and stays in it for as long as it is there, and whenever it comes back.
    /// - Parameter isWPA3: whether it joins by SAE alone; else by WPA2 alone.
    public func join(_ ssid: SSID, password: String, isWPA3: Bool = false, within limit: Duration) async throws {
        leave()
        let path = "\(directory)/\(name).conf"
        let authentication =
            isWPA3
            ? "key_mgmt=SAE\n ieee80211w=2\n sae_password=\"\(password)\""
            : "key_mgmt=WPA-PSK\n psk=\"\(password)\""
        try Lab.write(
            """
            ctrl_interface=\(controlDirectory)
            p2p_disabled=1
            network={
             ssid=\(ssid.hex)
             \(authentication)
            }

            """, to: path)
        supplicant = try await place.start(
            "wpa_supplicant", ["-t", "-Dnl80211", "-i\(place.radio.interface)", "-c\(path)"], log: name)
        try await eventually(within: limit, "\(name) to be in \(ssid)") { self.isJoined }
    }

    public var isJoined: Bool {
        (try? control.value(of: "wpa_state", in: "STATUS")) == "COMPLETED"
    }

    /// Gets an address by DHCP.
    public func address(within limit: Duration) async throws -> IPv4Address {
        let path = "\(directory)/\(name).dhcpcd.conf"
        try Lab.write("ipv4only\nnoipv4ll\nnoarp\nnodelay\nscript /bin/true\n", to: path)
        if dhcpcd?.isRunning != true {
            dhcpcd = try await place.start(
                "dhcpcd", ["-B", "-d", "-f", path, place.radio.interface], log: "\(name)-dhcpcd")
        }
        var found: IPv4Address?
        try await eventually(within: limit, "\(name) to have an address") {
            found = try self.currentAddress
            return found != nil
        }
        guard let found else { throw LabError.timedOut(what: "an address", limit: limit) }
        return found
    }

    /// What it writes about DHCP.
    public nonisolated var dhcpLog: String { log("\(name)-dhcpcd") }

    private nonisolated func log(_ name: String) -> String {
        guard let file = fopen("\(directory)/\(name).log", "re") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    private var currentAddress: IPv4Address? {
        get throws {
            try place.namespace.enter { () throws(LabError) in
                try NetworkInterface(place.radio.interface).address
            }
        }
    }

    /// Pings an address from its network, from now on. The scenario ends it.
    public func pinger(to address: IPv4Address) async throws -> Pinger {
        try await place.pinger(to: address, every: .milliseconds(100))
    }

    /// Leaves the network.
    public func leave() {
        supplicant?.kill()
        dhcpcd?.kill()
        (supplicant, dhcpcd) = (nil, nil)
    }

    private var controlDirectory: String { "\(directory)/\(name)" }

    private var control: ControlSocket {
        ControlSocket(path: "\(controlDirectory)/\(place.radio.interface)", directory: directory)
    }
}

extension Lab {
    /// A phone, in the place of one of the access points that the lab was asked for.
    public func roamingPhone(signal: Int = -45) throws -> RoamingPhone {
        phones += 1
        let place = try accessPoint("Phone\(phones)", security: .open, channel: 1, signal: signal)
        return try RoamingPhone(on: place, number: phones, directory: directory)
    }
}
