import AppProtocol

extension Check {
    static let scans = [
        scan("finished", "a scan is numbered, and its end is told with that number") { trial in
            let wire = try await trial.listening()
            let started = try await trial.startScan(wire)
            let finished = try await wire.event("scan.finished", within: scanTime) { $0.scan }
            try expect("the number of the scan", finished.scanId, is: started.scanId)
            let results: ScanResults = try await wire.get(.getScan)
            try expect("lastScanId", results.lastScanId, is: started.scanId)
        },
        scan("results", "what is in range is told strongest first, with its quality") { trial in
            let wire = try await trial.listening()
            _ = try await trial.startScan(wire)
            _ = try await wire.event("scan.finished", within: scanTime) { $0.scan }
            let answer = try await wire.ask(.getScan)
            let results = try answer.body(of: .getScan, as: ScanResults.self)
            let signals = results.networks.map(\.signal)
            try expect("the strongest first", zip(signals, signals.dropFirst()).allSatisfy(>=), got: "\(signals)")
            let qualities = answer.json["body"]?["networks"]?.array?.map { $0["quality"]?.integer } ?? []
            try expect("the quality of each signal", qualities, is: signals.map { SignalQuality.percent(signal: $0) })
        },
        scan("busy", "during a scan another one is refused as scanBusy") { trial in
            let wire = try await trial.listening()
            let started = try await trial.startScan(wire)
            try await wire.ask(.startScan).expectRefusal(.scanBusy)
            let during: ScanResults = try await wire.get(.getScan)
            try expect("scanning", during.isScanning, is: true)
            let finished = try await wire.event("scan.finished", within: scanTime) { $0.scan }
            try expect("the scan that was accepted", finished.scanId, is: started.scanId)
        },
        scan("again", "after its end the next scan has the next number") { trial in
            let wire = try await trial.listening()
            let first = try await trial.startScan(wire)
            _ = try await wire.event("scan.finished", within: scanTime) { $0.scan }
            let second = try await trial.startScan(wire)
            try expect("a higher number", second.scanId > first.scanId, got: "\(second.scanId) after \(first.scanId)")
            _ = try await wire.event("scan.finished", within: scanTime) { $0.scan }
        },
        scan("invalid", "impossible names and frequencies are refused") { trial in
            let wire = try await trial.open()
            try await wire.ask(.startScan, ["frequencies": [0]]).expectRefusal(.malformed)
            try await wire.ask(.startScan, ["frequencies": [-2412]]).expectRefusal(.malformed)
            try await wire.ask(.startScan, ["ssids": [["ssid": ""]]]).expectRefusal(.invalidSsid)
            try await wire.ask(.startScan, ["ssids": ["Attic"]]).expectRefusal(.malformed)
        },
    ]

    /// How long a scan of every channel may take, in the regulatory domain that allows most of them.
    private static let scanTime = Duration.seconds(30)

    private static func scan(
        _ name: String, _ title: String, _ body: @escaping @Sendable (Trial) async throws -> Void
    ) -> Check {
        Check("scan.\(name)", title, section: "scan.start, scan.get", body)
    }
}

extension Trial {
    /// Starts a scan, once whatever scan runs has ended.
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
