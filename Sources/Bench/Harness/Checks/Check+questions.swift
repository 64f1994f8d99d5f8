import AgentModel
import AppProtocol

extension Check {
    static let questions = [
        Check("capabilities.get", "the answer has the device's capabilities", section: "capabilities.get") { check in
            let wire = try await check.open()
            let capabilities: Capabilities = try await wire.get(.getCapabilities)
            try expect(
                "version 1 among the versions", capabilities.versions.contains(ProtocolLimits.version),
                got: "\(capabilities.versions)")
            try expect(
                "supportsBackupNetworks", capabilities.supportsBackupNetworks,
                is: capabilities.attributes.contains(.backupNetworks))
            let list: BackupList = try await wire.get(.getBackups)
            try expect("the maximum in backups.get", list.max, is: capabilities.maxBackupNetworks)
        },
        Check("capabilities.deviceId", "the answer has the requested device id", section: "capabilities.get") { check in
            let key = try check.key()
            let capabilities: Capabilities = try await check.open().get(.getCapabilities)
            try expect("deviceId", capabilities.deviceId, is: key.deviceId)
        },
        Check("network.get", "the answer has the device's connection", section: "network.get") { check in
            let wire = try await check.open()
            let answer = try await wire.ask(.getNetwork)
            let status = try answer.body(of: .getNetwork, as: NetworkStatus.self)
            let body = answer.json["body"]
            let numbers = ["wifi": 0, "wired": 1, "cellular": 2]
            try expect(
                "network for this uplink", body?["network"]?.integer,
                is: (body?["carrier"] ?? body?["uplink"])?.text.flatMap { numbers[$0] })
            try expect("quality for this signal", body?["quality"]?.integer, is: status.quality)
            if status.state == .online {
                try expect("an SSID while it is online", status.ssid != nil, got: "none")
                try expect("an address while it is online", !status.addresses.isEmpty, got: "none")
            }
        },
        Check("network.get.flags", "the flags match the uplink and the state", section: "network.get") { check in
            let status: NetworkStatus = try await check.open().get(.getNetwork)
            if status.flags.contains(.switchInProgress) {
                try expect("no second switch during one", !status.flags.contains(.canSwitch), got: "flag 2 with flag 4")
            }
            if status.uplink == .wired || status.uplink == .cellular {
                try expect("no switch over this uplink", !status.flags.contains(.canSwitch), got: "flag 2")
            }
        },
        Check(
            "backups.update.flag", "flag 1 says whether the device stores a list", section: "network.get",
            touchesBackups: true
        ) { check in
            let wire = try await check.open()
            let status: NetworkStatus = try await wire.get(.getNetwork)
            let entry = check.entry(try check.fresh())
            let answer = try await wire.ask(.updateBackups, .networks(check.kept(leaving: 1) + [entry]))
            if status.flags.contains(.canUpdateBackups) {
                try answer.expectSuccess(of: .updateBackups, id: nil)
            } else {
                try answer.expectRefusal(.storageFailed)
            }
        },
        Check("backups.get", "the answer has the stored networks without passwords", section: "backups.get") { check in
            let list: BackupList = try await check.open().get(.getBackups)
            try expect("at most \(list.max) networks", list.networks.count <= list.max, got: "\(list.networks.count)")
            try expect(
                "each network once", Set(list.networks.map(\.hash)).count == list.networks.count, got: "a hash twice")
        },
        Check("backups.get.hashes", "the hashes match the known passwords", section: "Names of networks") {
            check in
            let key = try check.key()
            let list: BackupList = try await check.open().get(.getBackups)
            let known = list.networks.compactMap { network in check.bench.network(network.ssid).map { (network, $0) } }
            guard !known.isEmpty else { throw Obstacle("needs a stored network that is in --networks") }
            for (stored, network) in known {
                let hash = NetworkHash(localKey: key.localKey, ssid: network.ssid, password: network.password)
                try expect("the hash of \(network.ssid)", stored.hash, is: hash)
            }
        },
        Check("history.get", "the answer has the last decisions, oldest first", section: "history.get") { check in
            let wire = try await check.open()
            let history: History = try await wire.get(.getHistory)
            let numbers = history.decisions.map(\.seq)
            try expect("rising numbers", zip(numbers, numbers.dropFirst()).allSatisfy(<), got: "\(numbers)")
            try expect("at most 20 decisions", numbers.count <= 20, got: "\(numbers.count)")
            let moments = history.decisions.map(\.monotonicMs)
            try expect("moments in order", zip(moments, moments.dropFirst()).allSatisfy(<=), got: "\(moments)")
        },
        Check("history.get.limit", "the answer has the newest decisions, up to the limit", section: "history.get") {
            check in
            let wire = try await check.open()
            let one: History = try await wire.get(.getHistory, ["limit": 1])
            try expect("at most one decision", one.decisions.count <= 1, got: "\(one.decisions.count)")
            let all: History = try await wire.get(.getHistory, ["limit": 200])
            try expect("at most 200 decisions", all.decisions.count <= 200, got: "\(all.decisions.count)")
            // Accept a newer decision, which may occur between the two requests.
            if let newest = one.decisions.last, let last = all.decisions.last {
                try expect("the newest decision last", last.seq >= newest.seq, got: "\(last.seq) after \(newest.seq)")
            } else {
                try expect(
                    "some decision, or none, in both", one.decisions.isEmpty == all.decisions.isEmpty,
                    got: "decisions in one only")
            }
        },
        Check("switch.get.unknown", "a query for an unknown switch is refused", section: "switch.get") { check in
            let wire = try await check.open()
            for id in ["harness-none", "", String(repeating: "s", count: 1000), "../..", "\u{0}"] {
                try await wire.ask(.getSwitch, ["switchId": .text(id)]).expectRefusal(.unknownSwitch)
            }
        },
        Check("switch.confirm.unknown", "a confirmation of an unknown switch is refused", section: "switch.confirm") {
            check in
            try await check.open().ask(.confirmSwitch, ["switchId": "harness-none"]).expectRefusal(.unknownSwitch)
        },
    ]
}

extension Check {
    static let connectivity = [
        Check("network.get.connectivity", "the answer has the state of each target", section: "connectivity") { check in
            try check.needsFeature("connectivity")
            let answer = try await check.open().ask(.getNetwork)
            let status = try answer.body(of: .getNetwork, as: NetworkStatus.self)
            guard let connectivity = status.connectivity else {
                throw Deviation("connectivity, as listed in the features", got: "none")
            }
            let received = answer.json["body"]?["connectivity"]?["targets"]?.array?.map { $0["online"] } ?? []
            try expect(
                "a member online that matches each target's state", received,
                is: connectivity.targets.map { .bool($0.isOnline) })
            let names = connectivity.targets.map(\.name)
            try expect("each target once", Set(names).count == names.count, got: "\(names)")
            for target in connectivity.targets where target.isOnline {
                try expect("no reason for the online target \(target.name)", target.reason == nil, got: "one")
            }
        },
        Check("network.get.reachability", "the reachability flags agree with each other", section: "connectivity") {
            check in
            try check.needsFeature("connectivity")
            let answer = try await check.open().ask(.getNetwork)
            let status = try answer.body(of: .getNetwork, as: NetworkStatus.self)
            let names = answer.json["body"]?["connectivity"]?["reachability"]?.array?.compactMap(\.text) ?? []
            try expect("each flag once", Set(names).count == names.count, got: "\(names)")
            guard let flags = status.connectivity?.reachability else { return }
            try expect("reachable with any other flag", flags.isEmpty || flags.contains(.reachable), got: "\(names)")
            let means: ReachabilityFlags = [.connectionOnTraffic, .connectionOnDemand, .interventionRequired]
            try expect(
                "connectionRequired with a flag that says how to connect",
                flags.isDisjoint(with: means) || flags.contains(.connectionRequired), got: "\(names)")
        },
        Check("diagnosis.get", "the answer has every layer, from the radio upwards", section: "diagnosis.get") {
            check in
            try check.needsFeature("connectivity")
            let patience = check.target.patience + .seconds(ProtocolLimits.diagnosisSeconds)
            let wire: Wire
            do { wire = try await check.open(handshake: nil, patience: patience) } catch {
                throw Deviation("the owner's connection", got: "none")
            }
            let diagnosis: Diagnosis = try await wire.get(.getDiagnosis)
            let order = diagnosis.steps.compactMap { Diagnosis.Layer.allCases.firstIndex(of: $0.layer) }
            try expect("the layers in their order", order == order.sorted(), got: "\(diagnosis.steps.map(\.layer))")
            let once = diagnosis.steps.filter { $0.layer != .target }.map(\.layer)
            try expect("each layer once", Set(once).count == once.count, got: "\(once)")
            let missing = Diagnosis.Layer.allCases.filter { layer in !diagnosis.steps.contains { $0.layer == layer } }
            try expect("every layer", missing.isEmpty, got: "none of \(missing)")
            for step in diagnosis.steps where step.result == .broken {
                try expect("a remedy for \(step.layer)", step.remedy != nil, got: "nothing")
            }
        },
        Check("portal.get.state", "network.get and portal.get report one state", section: "portal.get, portal.answer") {
            check in
            try check.needsFeature("portal")
            let wire = try await check.open()
            let before: NetworkStatus = try await wire.get(.getNetwork)
            let portal = (try await wire.get(.getPortal, as: PortalStatus.self)).portal
            let after: NetworkStatus = try await wire.get(.getNetwork)
            // Compare only a state that has not changed meanwhile.
            if before.connectivity?.portal?.state == after.connectivity?.portal?.state {
                try expect("the state in portal.get", portal?.state, is: after.connectivity?.portal?.state)
            }
            switch portal?.state {
            case .authenticating, .presentingUI, .maintaining:
                try expect("the provider in the state", portal?.provider != nil, got: "none")
            case .inactive, .evaluating: try expect("no provider in the state", portal?.provider, is: nil)
            case .authenticated, nil: break
            }
        },
        Check("portal.get", "the answer has the open request to the user", section: "portal.get, portal.answer") {
            check in
            try check.needsFeature("portal")
            let status: PortalStatus = try await check.open().get(.getPortal)
            guard let request = status.request else {
                try expect(
                    "a request in the state presentingUI", status.portal?.state != .presentingUI, got: "none")
                return
            }
            try expect("the state with an open request", status.portal?.state, is: .presentingUI)
            try expect("the provider in the state", status.portal?.provider, is: request.provider)
            try expect(
                "fields, or a page on which the user finishes", !request.fields.isEmpty || request.url != nil,
                got: "neither")
            let count = request.fields.count
            try expect(
                "at most \(ProtocolLimits.portalFields) fields", count <= ProtocolLimits.portalFields, got: "\(count)")
            let names = request.fields.map(\.name)
            try expect("each field once", Set(names).count == names.count, got: "\(names)")
        },
        Check(
            "portal.answer.unknown", "an answer to an unknown request is refused as unknownPortal",
            section: "portal.get, portal.answer"
        ) { check in
            try check.needsFeature("portal")
            let wire = try await check.open()
            let open = (try await wire.get(.getPortal, as: PortalStatus.self)).request?.id
            for id in [0, -1, .max, (open ?? 0) + 1_000_000] {
                try await wire.ask(.answerPortal, ["id": .integer(id), "values": [:]]).expectRefusal(.unknownPortal)
                try await wire.ask(.answerPortal, ["id": .integer(id), "cancel": true]).expectRefusal(.unknownPortal)
            }
            let after: PortalStatus = try await wire.get(.getPortal)
            if let open { try expect("the unchanged open request", after.request?.id, is: open) }
        },
    ]
}

extension Check {
    static let scans = [
        scan("finished", "a scan has a number, and the event of its end has the same") { check in
            let wire = try await check.listening()
            let started = try await check.startScan(wire)
            let finished = try await wire.event("scan.finished", within: scanTime) { $0.scan }
            try expect("the number of the scan", finished.scanId, is: started.scanId)
            let results: ScanResults = try await wire.get(.getScan)
            try expect("lastScanId", results.lastScanId, is: started.scanId)
        },
        scan("results", "the results are sorted by signal and have a quality") { check in
            let wire = try await check.listening()
            _ = try await check.startScan(wire)
            _ = try await wire.event("scan.finished", within: scanTime) { $0.scan }
            let answer = try await wire.ask(.getScan)
            let results = try answer.body(of: .getScan, as: ScanResults.self)
            let signals = results.networks.map(\.signal)
            try expect("the strongest first", zip(signals, signals.dropFirst()).allSatisfy(>=), got: "\(signals)")
            let qualities = answer.json["body"]?["networks"]?.array?.map { $0["quality"]?.integer } ?? []
            try expect("the quality of each signal", qualities, is: signals.map { SignalQuality.percent(signal: $0) })
        },
        scan("busy", "during a scan another one is refused as scanBusy") { check in
            let wire = try await check.listening()
            let started = try await check.startScan(wire)
            try await wire.ask(.startScan).expectRefusal(.scanBusy)
            let during: ScanResults = try await wire.get(.getScan)
            try expect("scanning", during.isScanning, is: true)
            let finished = try await wire.event("scan.finished", within: scanTime) { $0.scan }
            try expect("the scan that was accepted", finished.scanId, is: started.scanId)
        },
        scan("again", "the next scan has a higher number") { check in
            let wire = try await check.listening()
            let first = try await check.startScan(wire)
            _ = try await wire.event("scan.finished", within: scanTime) { $0.scan }
            let second = try await check.startScan(wire)
            try expect("a higher number", second.scanId > first.scanId, got: "\(second.scanId) after \(first.scanId)")
            _ = try await wire.event("scan.finished", within: scanTime) { $0.scan }
        },
        scan("invalid", "invalid names and frequencies are refused") { check in
            let wire = try await check.open()
            try await wire.ask(.startScan, ["frequencies": [0]]).expectRefusal(.malformed)
            try await wire.ask(.startScan, ["frequencies": [-2412]]).expectRefusal(.malformed)
            try await wire.ask(.startScan, ["ssids": [["ssid": ""]]]).expectRefusal(.invalidSsid)
            try await wire.ask(.startScan, ["ssids": ["Attic"]]).expectRefusal(.malformed)
        },
    ]

    /// Time limit for a scan in the regulatory domain with the most channels.
    private static let scanTime = Duration.seconds(30)

    private static func scan(
        _ name: String, _ title: String, _ body: @escaping @Sendable (CheckRun) async throws -> Void
    ) -> Check {
        Check("scan.\(name)", title, section: "scan.start, scan.get", body)
    }
}

extension CheckRun {
    fileprivate func startScan(_ wire: Wire) async throws -> ScanStarted {
        try needsFeature("scan")
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            let answer = try await wire.ask(.startScan)
            switch answer.code {
            case .interfaceMissing, .radioFailed: throw Obstacle("the device cannot scan: \(answer.summary)")
            case .scanBusy where .now < deadline: await pause(.milliseconds(200))
            default: return try answer.body(of: .startScan)
            }
        }
    }
}
