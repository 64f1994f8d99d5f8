import AgentModel
import AppProtocol

/// Messages with random values, within what the types allow.
struct RandomMessages<Generator: RandomNumberGenerator> {
    var random: Generator

    mutating func request() -> Request {
        let type = pick(MessageType.allCases)
        let id = text(1...64)
        let body: Request.Body? =
            switch type {
            case .getCapabilities: .getCapabilities
            case .getNetwork: .getNetwork
            case .getBackups: .getBackups
            case .updateBackups:
                .updateBackups(
                    backupsUpdate())
            case .switchNetwork:
                .switchNetwork(
                    SwitchRequest(
                        target: reference(), confirmWithin: maybe { $0.integer(ProtocolLimits.confirmWithin) },
                        joinOnce: .random(using: &random), besideUplink: .random(using: &random)))
            case .getSwitch: .getSwitch(SwitchQuery(switchId: text(0...40)))
            case .confirmSwitch: .confirmSwitch(SwitchQuery(switchId: text(0...40)))
            case .startScan:
                .startScan(ScanRequest(ssids: many(0...64) { $0.ssid() }, frequencies: many(0...64) { $0.frequency() }))
            case .getScan: .getScan
            case .getHistory: .getHistory(HistoryQuery(limit: integer(1...200)))
            case .agreeKey: .agreeKey(SealingKeyQuery(key: maybe { $0.keyName() }, nonce: maybe { $0.nonce() }))
            case .getKeys: .getKeys
            case .addKey: .addKey(keyRequest())
            case .revokeKey: .revokeKey(KeyQuery(name: keyName()))
            case .claimKey: .claimKey(KeyClaim(name: maybe { $0.keyName() }))
            case .openRescue: .openRescue(SetupAccessPointRequest(isButton: .random(using: &random)))
            case .closeRescue: .closeRescue
            case .getMetrics: .getMetrics
            case .stagePassword: .stagePassword(staging())
            case .dropPassword: .dropPassword(StagedPasswordQuery(changeId: text(1...64)))
            case .getDiagnosis: .getDiagnosis
            case .getPortal: .getPortal
            case .answerPortal: .answerPortal(portalAnswer())
            case .getTargets: .getTargets
            case .updateTargets: .updateTargets(.random(using: &random) ? .reset : .replace(targetSettings()))
            case .getProviders: .getProviders
            case .setProvider:
                .setProvider(
                    ProviderSwitch(provider: text(ProtocolLimits.providerNameLength), isOn: .random(using: &random)))
            case .setName: .setName(DeviceNameChange(name: maybe { $0.deviceName() }))
            case .subscribe, .openSession, .proveRequest: nil
            }
        if type == .proveRequest {
            return Request(
                id: id, content: .prove(ProvedRequest(line: text(0...200), key: keyName(), proof: proof())))
        }
        if type == .openSession { return Request(id: id, content: .open(opening())) }
        let subscription = EventSubscription(
            since: maybe { $0.integer(0...Int.max) }, stream: maybe { $0.text(0...20) })
        return Request(id: id, content: body.map { .device($0) } ?? .subscribe(subscription))
    }

    mutating func answer(to type: MessageType) -> Response.Body {
        switch type {
        case .getCapabilities:
            .capabilities(
                Capabilities(
                    attributes: DeviceAttributes(rawValue: .random(in: 0...UInt32.max, using: &random)),
                    maxBackupNetworks: integer(0...64), deviceId: text(1...64), firmware: text(0...20),
                    features: many(0...5) { $0.text(1...10) }))
        case .getNetwork, .setName: .network(status())
        case .getBackups, .updateBackups, .stagePassword, .dropPassword: .backups(backups())
        case .switchNetwork, .getSwitch, .confirmSwitch, .proveRequest: .switchStatus(switchStatus())
        case .startScan: .scanStarted(ScanStarted(scanId: integer(0...Int.max)))
        case .getScan:
            .scan(
                ScanResults(
                    isScanning: .random(using: &random), lastScanId: maybe { $0.integer(0...9999) },
                    networks: many(0...40) { $0.scanned() }, isTruncated: .random(using: &random)))
        case .subscribe: .subscribed(Subscribed(seq: integer(0...Int.max), stream: text(0...20)))
        case .getHistory:
            .history(History(decisions: many(0...20) { $0.decision() }, isTruncated: .random(using: &random)))
        case .agreeKey: .key(SealingKey(keyId: text(1...64), publicKey: bytes(32), proof: maybe { $0.proof() })!)
        case .openSession:
            .opened(
                SessionOpened(
                    proof: proof(), role: pick(Role.allCases), isInvitation: .random(using: &random)))
        case .getKeys, .revokeKey: .keys(AppKeyReport(keys: many(0...33) { $0.appKey() }))
        case .addKey, .claimKey: .handout(KeyHandout(key: appKey(), code: pairingCode()))
        case .openRescue, .closeRescue: .rescue(setupAccessPoint())
        case .getMetrics: .metrics(MetricsReport(many(0...30) { $0.metric() }))
        case .getDiagnosis: .diagnosis(diagnosis())
        case .getPortal, .answerPortal:
            .portal(
                PortalStatus(
                    portal: maybe { $0.portal() }, request: maybe { $0.portalRequest() },
                    problem: maybe { $0.text(1...80) }))
        case .getTargets, .updateTargets:
            .targets(
                TargetList(
                    source: pick(TargetList.Source.allCases), required: pick(ReachLevel.allCases),
                    targets: targetSettings()))
        case .getProviders, .setProvider:
            .providers(
                HotspotProviders(
                    providers: many(0...ProtocolLimits.providers) {
                        HotspotProvider(
                            name: $0.text(ProtocolLimits.providerNameLength), isOn: .random(using: &$0.random))
                    }))
        }
    }

    mutating func metric() -> Metric {
        Metric(
            text(1...30), pick(Metric.Kind.allCases), unit: maybe { $0.text(1...10) },
            scale: pick([1, 1000]), text(0...80),
            many(0...5) { random in
                let labels = [random.text(1...10): random.text(0...20)]
                let value = random.integer(-1000...1_000_000)
                guard .random(using: &random.random) else { return Metric.Sample(labels, value) }
                let buckets = random.many(1...12) {
                    Metric.Bucket(atMost: $0.integer(-100...100), count: $0.integer(0...1000))
                }
                return Metric.Sample(labels, sum: value, buckets: buckets, count: random.integer(0...1000))
            })
    }

    mutating func staging() -> PasswordStaging {
        let network = NewNetwork(ssid: ssid(), credential: .password(Secret(text: "pass-\(integer(1000...9999))")))
        return PasswordStaging(
            changeId: text(1...64), network: network, keepFor: maybe { $0.integer(ProtocolLimits.keepFor) })
    }

    mutating func setupAccessPoint() -> SetupAccessPointStatus {
        SetupAccessPointStatus(
            isOpen: .random(using: &random), ssid: ssid(), since: maybe { $0.time() }, why: maybe { $0.text(1...20) },
            radio: maybe { $0.text(1...10) }, stations: maybe { $0.integer(0...200) },
            closesIn: maybe { $0.integer(0...86_400) }, problem: maybe { $0.text(1...80) })
    }

    mutating func failure() -> ProtocolError {
        ProtocolError(
            pick(ErrorCode.allCases), text(0...80),
            details: [
                "field": .text(text(0...40)), "max": .number(integer(0...64)),
                "revision": .number(integer(0...Int.max)),
                "phase": .text(pick(SwitchPhase.allCases).rawValue), "hash": .text(hash().base64),
            ].filter { _ in Bool.random(using: &random) })
    }

    mutating func event() -> Event {
        let body: Event.Body =
            switch integer(0...9) {
            case 0: .networkChanged(status())
            case 1:
                .signal(
                    SignalReading(signal: signal(), bssid: maybe { $0.bssid() }, frequency: maybe { $0.frequency() }))
            case 2:
                .scanFinished(
                    ScanFinished(
                        scanId: maybe { $0.integer(0...Int.max) }, outcome: pick(ScanFinished.Outcome.allCases),
                        networks: integer(0...500)))
            case 3: .backupsChanged(backups())
            case 4: .switchProgress(switchStatus())
            case 5: .decision(decision())
            case 6: .targetChanged(target())
            case 7: .portalRequest(portalRequest())
            case 8: .portalEnded(PortalEnded(id: integer(1...Int.max)))
            default: .gap(Gap(reason: pick(Gap.Reason.allCases), missed: integer(0...Int.max)))
            }
        return Event(seq: integer(0...Int.max), time: time(), body: body)
    }
}

// MARK: Parts

extension RandomMessages {
    mutating func backupsUpdate() -> BackupsUpdate {
        let networks = many(0...64) { $0.reference() }
        var addressing: [NetworkHash: Addressing] = [:]
        for case .stored(let hash) in networks {
            addressing[hash] = maybe { random in random.maybe { $0.staticAddress() }.map { .fixed($0) } ?? .dhcp }
        }
        var options: [NetworkHash: NetworkOptions.Change] = [:]
        for case .stored(let hash) in networks {
            options[hash] = optionChange()
            if options[hash]?.isEmpty ?? false { options[hash] = nil }
        }
        return BackupsUpdate(
            networks: networks, ifRevision: maybe { $0.integer(0...Int.max) }, addressing: addressing,
            options: options, home: maybe { random in random.maybe { $0.reference() }.map { .replace($0) } ?? .forget })
    }

    mutating func optionChange() -> NetworkOptions.Change {
        NetworkOptions.Change(
            allowsTKIP: maybe { Bool.random(using: &$0.random) },
            isAutomatic: maybe { Bool.random(using: &$0.random) },
            isMetered: setting { Bool.random(using: &$0.random) }, band: setting { $0.pick(Band.allCases) },
            bssid: setting { $0.accessPoint() }, ipv6: setting { $0.staticIPv6Address() })
    }

    private mutating func setting<Value>(
        _ value: (inout RandomMessages) -> Value
    ) -> NetworkOptions.Setting<Value>? {
        maybe { random in random.maybe(value).map { .to($0) } ?? .unset }
    }

    mutating func options(canAllowTKIP: Bool) -> NetworkOptions {
        NetworkOptions(
            allowsTKIP: canAllowTKIP && Bool.random(using: &random), isManual: Bool.random(using: &random),
            isMetered: maybe { Bool.random(using: &$0.random) }, band: maybe { $0.pick(Band.allCases) },
            bssid: maybe { $0.accessPoint() }, ipv6: maybe { $0.staticIPv6Address() })
    }

    private mutating func accessPoint() -> BSSID { BSSID(bytes: [2] + bytes(5))! }

    private mutating func staticIPv6Address() -> StaticAddress {
        let servers = ["2001:db8::53", "9.9.9.9"].compactMap { IPAddress($0) }
        let text = "2001:db8::\(integer(2...9999))/\(integer(8...64))"
        let gateway = IPAddress(pick(["fe80::1", "2001:db8::1"]))
        guard
            let address = try? StaticAddress(
                text, gateway: maybe { _ in gateway } ?? nil, nameServers: Array(servers.prefix(integer(0...2))))
        else { preconditionFailure("\(text) is an address") }
        return address
    }

    mutating func targetSettings() -> [TargetSetting] {
        many(0...ProtocolLimits.targets) {
            TargetSetting(
                name: $0.text(ProtocolLimits.targetNameLength), url: $0.text(ProtocolLimits.targetURLLength))
        }
    }

    mutating func staticAddress() -> StaticAddress {
        let servers = ["10.0.0.1", "2001:db8::53", "9.9.9.9"].compactMap { IPAddress($0) }
        let text = "10.\(integer(0...255)).0.\(integer(2...254))/\(integer(8...23))"
        guard
            let address = try? StaticAddress(
                text, gateway: nil, nameServers: Array(servers.prefix(integer(0...3))))
        else { preconditionFailure("\(text) is an address") }
        return address
    }

    mutating func reference() -> NetworkReference {
        let security = [Security.wpa2, .wpa3, .wpa2wpa3].randomElement(using: &random)
        let isHidden = Bool.random(using: &random)
        let address = maybe { $0.staticAddress() }
        switch integer(0...5) {
        case 0: return .stored(hash())
        case 4:
            return .new(
                NewNetwork(
                    ssid: ssid(), credential: .enterprise(enterprise()), security: .enterprise, isHidden: isHidden,
                    address: address))
        case 5:
            let length = SealedEnterprise.paddingStep * integer(1...2) + 48
            let sealed = SealedEnterprise(box(length))!
            return .new(
                NewNetwork(
                    ssid: ssid(), credential: .sealedEnterprise(sealed), security: .enterprise, isHidden: isHidden,
                    address: address))
        case 1:
            let open = pick([Security.open, .owe])
            return .new(
                NewNetwork(
                    ssid: ssid(), credential: .none, security: open, isHidden: isHidden, address: address,
                    options: options(canAllowTKIP: false)))
        case 2:
            let password = Secret(many(8...63) { UInt8($0.integer(0x20...0x7e)) })
            return .new(
                NewNetwork(
                    ssid: ssid(), credential: .password(password), security: security, isHidden: isHidden,
                    address: address, options: options(canAllowTKIP: security != .wpa3)))
        default:
            let sealed = SealedPassword(box(SealedPassword.length))!
            return .new(
                NewNetwork(
                    ssid: ssid(), credential: .sealed(sealed), security: security, isHidden: isHidden, address: address)
            )
        }
    }

    mutating func enterprise() -> EnterpriseCredential {
        let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"
        let key = Secret(text: "-----BEGIN EC PRIVATE KEY-----\nMAMCAQA=\n-----END EC PRIVATE KEY-----\n")
        let method = pick(EnterpriseCredential.Method.allCases)
        let hasOwn = Bool.random(using: &random)
        let isTLS = method == .tls
        let name = "radius\(integer(0...9)).example.com"
        guard
            let credential = try? EnterpriseCredential(
                method: method, inner: method == .ttls ? pick(EnterpriseCredential.Inner.allCases) : nil,
                identity: "é user \(integer(0...9))", anonymousIdentity: maybe { _ in "anonymous" },
                password: isTLS ? nil : Secret(text: "pässword"),
                clientCertificate: isTLS ? certificate + certificate : nil, privateKey: isTLS ? key : nil,
                caCertificate: hasOwn ? certificate : nil, usesSystemAuthorities: !hasOwn,
                serverName: hasOwn ? maybe { _ in name } : name)
        else { preconditionFailure("a credential that is none") }
        return credential
    }

    mutating func status() -> NetworkStatus {
        var status = NetworkStatus(
            state: pick(LinkState.allCases), uplink: maybe { $0.pick(Uplink.allCases) },
            carrier: maybe { $0.pick(Uplink.allCases) },
            flags: NetworkFlags(rawValue: UInt32(integer(0...7))), ssid: maybe { $0.ssid() },
            bssid: maybe { $0.bssid() },
            signal: maybe { $0.signal() }, frequency: maybe { $0.frequency() }, hash: maybe { $0.hash() },
            addresses: many(0...4) { "192.0.2.\($0.integer(0...255))" }, since: time(),
            connectivity: maybe { $0.connectivity() },
            handover: maybe { random in
                random.maybe { $0.pick(Handover.Obstacle.allCases) }.map { .breakBeforeMake($0) } ?? .makeBeforeBreak
            },
            standby: maybe { $0.name() }, modem: maybe { $0.modem() }, rescue: maybe { $0.setupAccessPoint() })
        status.refused = many(0...2) {
            RefusedNetwork(
                ssid: $0.ssid(), security: $0.pick(Security.allCases),
                reason: $0.pick([.lessSecure, .unsupportedSecurity]), remedy: $0.text(0...80))
        }
        status.isMetered = pick([true, false])
        status.deviceName = maybe { $0.deviceName() }
        return status
    }

    mutating func modem() -> ModemStatus {
        ModemStatus(
            interface: text(1...15), state: pick(ModemStatus.State.allCases), quality: maybe { $0.integer(0...100) },
            rssi: maybe { $0.signal() }, rsrp: maybe { $0.signal() },
            technology: maybe { $0.pick(ModemStatus.Technology.allCases) }, operator: maybe { $0.text(1...64) })
    }

    mutating func backups() -> BackupList {
        BackupList(
            max: integer(0...64), revision: integer(0...Int.max),
            networks: many(0...16) { $0.backup() }, home: maybe { $0.backup() }, chosen: maybe { $0.backup() },
            staged: many(0...4) { $0.staged() })
    }

    mutating func staged() -> StagedPasswordStatus {
        StagedPasswordStatus(
            changeId: text(1...64), ssid: ssid(), phase: pick(StagedPasswordStatus.Phase.allCases),
            hash: maybe { $0.hash() }, since: time(), until: maybe { $0.time() })
    }

    mutating func backup() -> BackupNetwork {
        BackupNetwork(
            ssid: ssid(), hash: hash(), security: pick(Security.allCases), isHidden: .random(using: &random),
            lastSeen: maybe { $0.time() }, lastSignal: maybe { $0.signal() },
            lastFailure: maybe { $0.pick(JoinFailure.allCases) },
            options: options(canAllowTKIP: true))
    }

    mutating func switchStatus() -> SwitchStatus {
        SwitchStatus(
            switchId: text(1...40), phase: pick(SwitchPhase.allCases),
            reason: maybe { ReasonCode($0.pick(JoinFailure.allCases)) }, text: maybe { $0.text(0...80) },
            trafficOver: maybe { $0.pick(Uplink.allCases) })
    }

    mutating func scanned() -> ScannedNetwork {
        ScannedNetwork(
            bssid: bssid(), ssid: maybe { $0.ssid() }, frequency: frequency(), signal: signal(),
            load: maybe { $0.integer(0...100) }, security: pick(Security.allCases), ageMs: integer(0...100_000),
            providers: many(0...2) { $0.text(ProtocolLimits.providerNameLength) })
    }

    mutating func decision() -> Decision {
        Decision(
            seq: integer(0...Int.max), time: time(), monotonicMs: .random(in: 0...Int64.max, using: &random),
            kind: Decision.Kind(rawValue: pick(Codes.kinds)), from: maybe { $0.name() }, to: maybe { $0.name() },
            reason: ReasonCode(rawValue: pick(Codes.reasons)), text: text(0...80),
            candidates: many(0...4) { random in
                Decision.Candidate(
                    ssid: random.ssid(), bssid: random.maybe { $0.bssid() }, signal: random.maybe { $0.signal() },
                    frequency: random.maybe { $0.frequency() },
                    verdict: ReasonCode(rawValue: random.pick(Codes.verdicts)))
            })
    }

    mutating func name() -> NetworkName { NetworkName(ssid: ssid(), hash: maybe { $0.hash() }) }
}

// MARK: Values

extension RandomMessages {
    mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value? {
        Bool.random(using: &random) ? make(&self) : nil
    }

    mutating func many<Value>(_ counts: ClosedRange<Int>, _ make: (inout Self) -> Value) -> [Value] {
        (0..<integer(counts)).map { _ in make(&self) }
    }

    mutating func pick<Value>(_ values: [Value]) -> Value { values.randomElement(using: &random)! }

    mutating func integer(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

    mutating func signal() -> Int { integer(-120...20) }

    mutating func bytes(_ count: Int) -> [UInt8] { many(count...count) { UInt8($0.integer(0...255)) } }

    /// Text of so many bytes, some of which JSON escapes.
    mutating func text(_ lengths: ClosedRange<Int>) -> String {
        String(many(lengths) { Character(UnicodeScalar(UInt8($0.integer(0...127)))) })
    }

    mutating func deviceName() -> DeviceName { (try? DeviceName(pick(["Lampe Küche", "भट्ठी", "👩‍👩‍👧‍👦", "a\"\\b"])))! }

    mutating func ssid() -> SSID {
        let bytes = bytes(integer(1...32))
        let shaped = Bool.random(using: &random) ? bytes : bytes.map { $0 & 0x7f }
        return (try? SSID(bytes: shaped))!
    }

    mutating func bssid() -> BSSID { BSSID(bytes: bytes(6))! }

    mutating func frequency() -> Frequency { Frequency(megahertz: integer(1...100_000)) }

    mutating func hash() -> NetworkHash { NetworkHash(localKey: Secret(bytes(16)), ssid: ssid(), password: nil) }

    mutating func time() -> Timestamp { Timestamp(millisecondsSince1970: Int64(integer(0...253_402_300_799_999))) }
}

extension RandomMessages {
    mutating func connectivity() -> Connectivity {
        Connectivity(
            level: maybe { $0.pick(ReachLevel.allCases) }, required: pick(ReachLevel.allCases),
            internet: pick(InternetState.allCases), checksInternet: pick([true, false]),
            problem: maybe { $0.pick(ReachProblem.allCases) },
            portal: maybe { $0.portal() }, targets: many(0...4) { $0.target() },
            reachability: ReachabilityFlags(many(0...3) { $0.pick(ReachabilityFlags.allNames).flag }),
            checked: maybe { $0.time() })
    }

    mutating func target() -> TargetStatus {
        TargetStatus(
            name: text(1...20), host: text(1...60), port: integer(1...65_535), state: pick(ConnectionState.allCases),
            reason: maybe { $0.pick(ReachProblem.allCases) }, since: time())
    }

    mutating func portal() -> Portal {
        Portal(
            url: maybe { $0.text(1...80) }, state: pick(Portal.State.allCases), provider: maybe { $0.text(1...20) },
            secondsRemaining: maybe { $0.integer(0...Int.max) }, bytesRemaining: maybe { $0.integer(0...Int.max) })
    }

    mutating func portalRequest() -> PortalRequest {
        PortalRequest(
            id: integer(1...Int.max), provider: text(1...20), network: name(), title: text(1...200),
            message: text(0...400), url: maybe { $0.text(1...80) },
            fields: many(0...ProtocolLimits.portalFields) { random in
                PortalRequest.Field(
                    name: random.text(1...128), label: random.text(0...200),
                    kind: random.pick(PortalRequest.Field.Kind.allCases), isRequired: .random(using: &random.random))
            })
    }

    mutating func portalAnswer() -> PortalAnswer {
        let values = many(0...ProtocolLimits.portalFields) { ($0.text(1...128), Secret(text: $0.text(0...100))) }
        return PortalAnswer(
            id: integer(1...Int.max), values: maybe { _ in Dictionary(values) { first, _ in first } })
    }

    mutating func diagnosis() -> Diagnosis {
        Diagnosis(
            steps: many(0...10) { random in
                Diagnosis.Step(
                    layer: random.pick(Diagnosis.Layer.allCases), result: random.pick(Diagnosis.Result.allCases),
                    found: random.text(1...80), remedy: random.maybe { $0.text(1...80) })
            }, checked: maybe { $0.time() })
    }
}

// Keys of apps.
extension RandomMessages {
    mutating func keyName() -> KeyName {
        while true { if let name = KeyName(text(1...16)) { return name } }
    }

    mutating func nonce() -> Nonce { Nonce(bytes(32))! }

    mutating func proof() -> Proof { Proof(bytes(32))! }

    mutating func box(_ length: Int) -> SealedBox {
        SealedBox(keyId: text(1...64), bytes: bytes(length), key: keyName(), proof: proof())!
    }

    mutating func opening() -> SessionRequest {
        SessionRequest(deviceId: text(1...16), key: keyName(), nonce: nonce(), proof: proof())
    }

    mutating func keyRequest() -> KeyRequest {
        KeyRequest(
            name: keyName(), role: pick(Role.allCases), expiresIn: maybe { $0.integer(ProtocolLimits.keyLifetime) },
            claimWithin: maybe { $0.integer(ProtocolLimits.claimWithin) })
    }

    mutating func appKey() -> AppKeyStatus {
        AppKeyStatus(
            name: keyName(), role: pick(Role.allCases), created: maybe { $0.time() }, expires: maybe { $0.time() },
            state: pick([.valid, .invited, .expired, .revoked]), sessions: integer(0...9),
            claimableFor: maybe { $0.integer(0...600) })
    }

    mutating func pairingCode() -> PairingCode {
        let key = try? DeviceKey(
            deviceId: "bench-01", localKey: Secret(bytes(32)), name: keyName(),
            certificate: CertificateFingerprint(of: bytes(4)))
        guard let key else { preconditionFailure("a key that is one") }
        return PairingCode(key, isInvitation: key.name != .owner)
    }
}
