import AgentModel
import AppProtocol
import Lab
import Testing

/// A device that may open the setup access point, as users and phones meet it.
extension Device {
    static let ownInterface = "altnet0"
    /// Its address there.
    static let ownAddress = IPv4Address(192, 168, 73, 1)

    static func withAccessPoint(
        _ lab: Lab, settings: [String: String] = [:], memory: MemoryLimit? = nil, isRecording: Bool = true,
        onEvent: @escaping @Sendable (Event.Body) -> Void = { _ in }
    ) async throws -> Device {
        try await lab.station.startSupplicant()
        try await lab.station.startSupplicant(whereverThereIs: ownInterface)
        let settings = ["ALTNET_SETUP_AP": "yes"].merging(settings) { $1 }
        let device = Device(in: lab, settings: settings, memory: memory, isRecording: isRecording, onEvent: onEvent)
        try await device.start()
        return device
    }

    nonisolated func opened(because why: String, within limit: Duration) async throws {
        try await eventually(within: limit, every: .milliseconds(50), "the access point to be open") {
            status?.rescue.map { $0.isOpen && $0.why == why } ?? false
        }
    }

    nonisolated func closed(within limit: Duration) async throws {
        try await eventually(within: limit, every: .milliseconds(250), "the access point to be closed") {
            status?.rescue.map { !$0.isOpen && $0.why == nil } ?? false
        }
    }
}

extension WirelessPhone {
    /// Joins the access point of a device, by the name and the password on its label.
    func join(_ device: Device, isWPA3: Bool = false, within limit: Duration = .seconds(20)) async throws {
        let point = try #require(SetupAccessPointCredentials(of: await device.key))
        let password = point.password.withBytes { String(decoding: $0, as: UTF8.self) }
        try await join(
            ConfiguredNetwork(point.ssid, security: isWPA3 ? .wpa3(password) : .wpa2(password)), within: limit)
    }
}
