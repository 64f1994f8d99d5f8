import Lab

extension Device {
    /// A device with everything it needs, told of its first network, which is on.
    static func atHome(
        _ home: AccessPoint, in lab: Lab, settings: [String: String] = [:], ipv6: Bool = false,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> Device {
        let device = Device(in: lab, settings: settings)
        try await lab.station.startDHCPClient(ipv6: ipv6)
        try await lab.station.startSupplicant()
        try await device.start()
        try await device.provision(home)
        return device
    }
}
