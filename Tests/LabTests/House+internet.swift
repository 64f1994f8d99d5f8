import AgentModel
import AppProtocol
import Lab
import Testing

extension House {
    /// What the device is told of the internet: its broker, and where to ask whether it is online.
    static let servers = [
        "ALTNET_TARGETS": "broker=mqtt://\(Upstream.brokerName):1883",
        "ALTNET_VALIDATION_URL": Upstream.validationURL,
    ]

    /// The device is on `network` and has its broker there, and what it sends takes that way.
    func expectBroker(
        through network: AccessPoint, within limit: Duration, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await device.online(on: network, within: limit)
        try await device.broker(.ready, within: limit)
        try await device.connectivity(within: .seconds(5), "the level of a target") { $0.level == .target }
        let address = try #require(await lab.station.address, sourceLocation: sourceLocation)
        let isOfNetwork = address.value >> 8 == network.gateway.value >> 8
        #expect(isOfNetwork, "\(address) is no address of \(network.ssid)", sourceLocation: sourceLocation)
        try await lab.station.seen(as: "\(address)", within: .seconds(10))
    }

    /// The device knows that the network leads to the internet, and as far as `level`. Where a server that had shown it
    /// fails, others are asked first, and until they answer nobody knows.
    func expectInternet(level: ReachLevel? = nil) async throws {
        try await device.connectivity(within: .seconds(20), "the internet to be known as reached") {
            $0.internet == .yes && (level == nil || $0.level == level)
        }
    }

    /// `altnet diagnose` says which layer is broken, and what to do.
    ///
    /// - Parameter layers: the lowest broken one is one of these.
    func expectDiagnosis(
        of layers: [Diagnosis.Layer], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let diagnosis = try await device.diagnosis()
        let broken = diagnosis.steps.first { $0.result == .broken }
        #expect(
            broken.map { layers.contains($0.layer) } == true, "\(diagnosis.steps)", sourceLocation: sourceLocation)
        #expect(broken?.remedy != nil, sourceLocation: sourceLocation)
    }
}
