import AgentModel
import AppProtocol
import KeyFile
import Lab
import Testing

/// The place where most scenarios happen: a home network and a backup, both on, and a device that is online at home and
/// knows the backup.
struct House {
    let lab: Lab
    let home: AccessPoint
    let backup: AccessPoint
    let device: Device
    let pinger: Pinger

    /// - Parameters:
    ///   - upstream: the internet behind both networks; there is none, and the device looks for none, where this is
    ///     nil.
    ///   - hasSeenBackup: the device has looked for the backup; else it is about to.
    init(
        _ lab: Lab, home: NetworkSecurity = .wpa2("home-password"), backup: NetworkSecurity = .wpa2("backup-password"),
        backupChannel: Int = 6, backupSignal: Int = -60, backupIsHidden: Bool = false, backupPassword: String? = nil,
        backupHasOnlyIPv6: Bool = false, upstream: Upstream? = nil, settings: [String: String] = [:],
        hasSeenBackup: Bool = true, homeChannel: Int = 1, homeSettings: [String] = []
    ) async throws {
        self.lab = lab
        self.home = try await lab.accessPoint(
            "HomeNet", security: home, channel: homeChannel, signal: -50, settings: homeSettings)
        self.backup = try await lab.accessPoint(
            "BackupNet", security: backup, channel: backupChannel, signal: backupSignal, hidden: backupIsHidden)
        if let upstream {
            for accessPoint in [self.home, self.backup] { try await accessPoint.connect(to: upstream) }
        }
        if backupHasOnlyIPv6 { await self.backup.haveOnlyIPv6() }
        // On a channel with radar it listens for a minute first.
        try await self.home.powerOn(within: .seconds(90))
        try await self.backup.powerOn()
        let servers = upstream == nil ? [:] : Self.servers
        device = try await Device.atHome(
            self.home, in: lab, settings: servers.merging(settings) { $1 })
        try await device.store([await self.backup.asStored(password: backupPassword, hidden: backupIsHidden)])
        // A scan of all channels on a living link takes half a minute in domain US.
        if hasSeenBackup { try await device.seen([self.backup], within: .seconds(120)) }
        pinger = try await lab.pinger()
        try await pinger.reply(within: .seconds(5))
    }

    /// How many decisions the device has made, to look only at later ones.
    var mark: Int { device.decisions.count }

    /// Data flows, and it flows through this network.
    func expectTraffic(
        through network: AccessPoint, within limit: Duration = .seconds(5),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await pinger.reply(within: limit)
        #expect(try await lab.station.network() == network.ssid, sourceLocation: sourceLocation)
    }

    /// The device comes to be on a network after something that happened at a moment, and a ping gets through.
    /// - Returns: the time from that moment to the ping.
    func timeToPing(
        on network: AccessPoint, since moment: ContinuousClock.Instant, within limit: Duration
    ) async throws -> Duration {
        try await device.online(on: network, within: limit)
        return try await pinger.reply(after: moment + .milliseconds(100), within: .seconds(5)) - moment
    }

    /// Home's power goes: the device moves to the backup and nowhere else, and data flows through it.
    func expectFailover(within limit: Duration, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let mark = mark
        try await home.powerOff()
        try await device.online(on: backup, within: limit)
        try await expectTraffic(through: backup, sourceLocation: sourceLocation)
        expectWay([backup], since: mark, sourceLocation: sourceLocation)
    }

    /// The device went from where it was straight to `networks`, and nowhere else in between.
    func expectWay(
        _ networks: [AccessPoint], since mark: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(device.way(since: mark) == networks.map(\.ssid), sourceLocation: sourceLocation)
    }
}

extension House {
    /// An open home network with the internet behind it, still off, for scenarios that need no backup.
    static func openHome(in lab: Lab) async throws -> AccessPoint {
        let home = try await lab.accessPoint("HomeNet", security: .open, channel: 1)
        try await home.connect(to: lab.upstream())
        return home
    }

    /// The device's settings for the internet: its broker, and where to ask whether it is online.
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

    /// The device knows that the network leads to the internet, and as far as `level`. If a server that had shown it
    /// fails, others are asked first, and until they answer the state is unknown.
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

extension Device {
    /// The key file with its root key.
    nonisolated var store: StorePlace {
        StorePlace(path: directory + "/keyfile", rootKey: .file(path: directory + "/root-key"))
    }

    /// Stores two days on which links of the network had `protection`, and waits until the agent has counted the third.
    func learnFloor(of network: AccessPoint, after protection: LinkProtection = [.sae, .pmf]) async throws {
        await stop()
        do {
            // Locked until the end of this scope.
            let keyFile = try store.open(maximumBackups: 3)
            var state = keyFile.state
            var learned = LearnedMinimumSecurity()
            for _ in 1..<LearnedMinimumSecurity.days { learned.countLink(with: protection) }
            state.statistics[network.ssid, default: NetworkStatistics()].learnedMinimumSecurity = learned
            try keyFile.commit(state)
        }
        try await start()
        try await online(on: network, within: .seconds(30))
        // Ten minutes, and a scan of all channels.
        try await Task.sleep(for: .seconds(640))
    }

    /// A device with everything it needs, told of its first network, which is on.
    static func atHome(
        _ home: AccessPoint, in lab: Lab, settings: [String: String] = [:], security: Security? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> Device {
        let device = Device(in: lab, settings: settings)
        try await lab.station.startSupplicant()
        try await device.start()
        try await device.provision(home, security: security)
        return device
    }
}
