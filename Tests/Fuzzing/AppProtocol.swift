import AgentModel
import AppProtocol
import Connectivity

extension FuzzTarget {
    /// A conversation with a device, and each of its lines as an app reads it.
    static let appProtocol = FuzzTarget(
        "app-protocol", "what a client sends in one connection, and a line from a device", longest: 4096,
        seeds: { TestFile.examples(in: "Docs/reference/protocol.md") }
    ) { bytes in
        converse(bytes)
        for line in bytes.split(separator: UInt8(ascii: "\n")) { read(Array(line)) }
    }
}

/// A conversation with a device. However the bytes arrive, the lines are the same; every line has one answer, which can
/// be read; and what was refused has changed nothing.
private func converse(_ bytes: [UInt8]) {
    var (whole, pieces) = (LineSplitter(), LineSplitter())
    whole.append(bytes)
    var expected: [LineSplitter.Output] = []
    while let output = whole.next() { expected.append(output) }
    var found: [LineSplitter.Output] = []
    for piece in Fuzzing.pieces(of: bytes) {
        pieces.append(piece)
        while let output = pieces.next() { found.append(output) }
    }
    precondition(found == expected, "the lines depend on how they arrive")
    var device = FuzzedDevice()
    for case .line(let line) in expected { device.receive(line) }
}

/// An app reads a line from a device: a value or an error; a value that is written reads the same.
private func read(_ line: [UInt8]) {
    guard let content = try? ServerLine(line: line) else { return }
    switch content {
    case .event(let event):
        let written = event.line()
        guard case .event(let again)? = try? ServerLine(line: written) else { preconditionFailure("no event any more") }
        precondition(again == event, "an event reads otherwise once it is written")
    case .answer(let id, nil):
        for body in bodies(of: line) {
            let written = Response(id: id, result: .success(body)).line()
            precondition(bodies(of: written).contains(body), "an answer reads otherwise once it is written")
        }
    case .answer(let id, let failure?):
        let written = Response(id: id, result: .failure(failure)).line()
        guard case .answer(id, failure)? = try? ServerLine(line: written) else {
            preconditionFailure("an error reads otherwise once it is written")
        }
    case .unknown: break
    }
}

/// Everything that the line can be the answer to.
private func bodies(of line: [UInt8]) -> [Response.Body] {
    [
        (try? ServerLine.body(Capabilities.self, of: line)).map { .capabilities($0) },
        (try? ServerLine.body(NetworkStatus.self, of: line)).map { .network($0) },
        (try? ServerLine.body(BackupList.self, of: line)).map { .backups($0) },
        (try? ServerLine.body(SwitchStatus.self, of: line)).map { .switchStatus($0) },
        (try? ServerLine.body(ScanStarted.self, of: line)).map { .scanStarted($0) },
        (try? ServerLine.body(ScanResults.self, of: line)).map { .scan($0) },
        (try? ServerLine.body(Subscribed.self, of: line)).map { .subscribed($0) },
        (try? ServerLine.body(History.self, of: line)).map { .history($0) },
        (try? ServerLine.body(SealingKey.self, of: line)).map { .key($0) },
    ].compactMap(\.self)
}

extension FuzzTarget {
    /// The small things that are read out of others: what is read is the same once it is written, and nothing else is.
    static let words = FuzzTarget(
        "words", "addresses of IP and of the web, BSSIDs, times and hexadecimal digits, each by itself", longest: 128,
        seeds: {
            bytes([
                "192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "fe80::1", "02:00:00:00:01:00", "00ff",
                "2026-02-03T04:05:06.789Z", "2024-02-29T23:59:59.999999999Z", "https://a.example:8443/b?c=d#e",
                "http://[2001:db8::1]/", "//b.example/x", "../a/./b",
            ])
        }
    ) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let address = IPAddress(text) {
            precondition(IPAddress(address.description) == address && IPAddress(bytes: address.bytes) == address)
        }
        if let bssid = BSSID(text) { precondition(BSSID(bssid.description) == bssid) }
        if let digits = Hex.bytes(text) { precondition(Hex.string(digits) == text.lowercased()) }
        if let time = Timestamp(text) { precondition(Timestamp(time.description) == time) }
        if let address = try? WebAddress(text) { check(address) }
        precondition(text.printable.unicodeScalars.allSatisfy(\.isPlain))
        if let ssid = try? SSID(bytes: bytes) { precondition(ssid.description.unicodeScalars.allSatisfy(\.isPlain)) }
    }
}

private func check(_ address: WebAddress) {
    precondition((1...65_535).contains(address.port) && address.target.hasPrefix("/"))
    guard address.description.utf8.count <= WebAddress.maximumLength else { return }
    precondition((try? WebAddress(address.description)) == address, "an address reads otherwise once it is written")
}

extension FuzzTarget {
    /// A camera reads a code: a network or a device, or an error that does not repeat the code.
    static let codes = FuzzTarget(
        "codes", "the QR codes of networks (WIFI:) and of devices", longest: 512,
        seeds: {
            bytes([
                "WIFI:T:WPA;S:HomeNet;P:correct horse;H:true;;", #"WIFI:S:"a\;b\:c\\";T:SAE;P:"12345678";;"#,
                "WIFI:T:nopass;S:Cafe;;", "wifi:T:WEP;S:a;P:12345;;",
                "altnet:pair?v=1&id=9f86d081884c7d65&key=0123456789abcdef0123456789abcdef",
                "altnet:pair?v=1&x=y&id=a%2Fb&key=%00%ff0123456789abcdef",
                "altnet://pair?v=1&id=a&key=0123456789abcdef&name=Anna%27s%20phone&claim=1&cert="
                    + String(repeating: "0f", count: 32),
            ])
        }
    ) { bytes in
        do throws(NetworkCodeError) {
            let network = try NetworkCode(reading: bytes).network
            precondition((1...SSID.maximumLength).contains(network.ssid.bytes.count))
            switch network.credential {
            case .none: break
            case .password(let password):
                precondition((try? Passphrase.validate(password, for: network.security)) != nil)
            case .sealed, .enterprise, .sealedEnterprise: preconditionFailure("a code has a password or none")
            }
            precondition((try? NetworkCode(reading: bytes))?.network == network)
        } catch {
            precondition(error.description.utf8.count < 200)
        }
        do throws(PairingCodeError) {
            let code = try PairingCode(reading: bytes)
            // A character that is not unreserved takes three times the room.
            let uri = code.uri()
            guard uri.utf8.count <= PairingCode.maximumLength else { return }
            precondition((try? PairingCode(reading: uri.utf8)) == code, "a code reads otherwise once it is written")
        } catch {
            precondition(error.description.utf8.count < 200)
        }
    }
}

/// A device without a radio: it keeps a list of networks as the agent does, and opens what is sealed.
struct FuzzedDevice {
    private static let localKey = Secret(text: "0123456789abcdef")
    private static let maximum = 3

    private var backups: [BackupNetwork] = []
    private var revision = 0
    private let opener = SealOpener(deviceId: "bench-01") { name, _ in name == .owner ? FuzzedDevice.localKey : nil }

    private var list: BackupList { BackupList(max: Self.maximum, revision: revision, networks: backups) }

    /// Answers a line as a connection does, and checks what must hold whatever the line was.
    mutating func receive(_ line: [UInt8]) {
        let before = list
        let response: Response
        do {
            let request = try Request(line: line)
            check(request)
            response = Response(id: request.id, result: answer(to: request))
        } catch {
            response = Response(id: error.id, result: .failure(error.error))
        }
        if case .failure = response.result { precondition(list == before, "what was refused has changed the list") }
        precondition(list.networks.count <= Self.maximum && list.revision - before.revision <= 1)
        let written = response.line()
        precondition(written.count <= ProtocolLimits.lineLength, "an answer is too long")
        guard case .answer(response.id, let failure)? = try? ServerLine(line: written) else {
            preconditionFailure("an answer cannot be read")
        }
        if case .failure(let error) = response.result { precondition(failure == error, "an error reads otherwise") }
    }

    /// An accepted request keeps to the limits, and is the same once it is written and read again.
    private func check(_ request: Request) {
        precondition((1...ProtocolLimits.idLength).contains(request.id.utf8.count))
        switch request.content {
        case .device(.updateBackups(let update)):
            precondition(update.networks.count <= ProtocolLimits.updateEntries)
            update.networks.forEach(check)
        case .device(.switchNetwork(let order)):
            check(order.target)
            precondition(order.confirmWithin.map(ProtocolLimits.confirmWithin.contains) ?? true)
        case .device(.startScan(let scan)):
            precondition(max(scan.ssids.count, scan.frequencies.count) <= ProtocolLimits.scanTargets)
        case .device(.addKey(let key)):
            precondition(key.name != nil || key.claimWithin != nil)
            precondition(key.expiresIn.map(ProtocolLimits.keyLifetime.contains) ?? true)
        case .device(.getHistory(let query)): precondition(ProtocolLimits.historyDecisions.contains(query.limit))
        case .device(.answerPortal(let answer)):
            precondition(answer.values?.count ?? 0 <= ProtocolLimits.portalFields)
            for (name, value) in answer.values ?? [:] {
                precondition(ProtocolLimits.portalNameLength.contains(name.utf8.count))
                precondition(value.count <= ProtocolLimits.portalValueLength)
            }
        case .device(.updateTargets(.replace(let targets))):
            precondition(targets.count <= ProtocolLimits.targets)
            for target in targets {
                precondition(ProtocolLimits.targetNameLength.contains(target.name.utf8.count))
                precondition(ProtocolLimits.targetURLLength.contains(target.url.utf8.count))
            }
        default: break
        }
        guard let written = try? request.line(), written.count <= ProtocolLimits.lineLength else { return }
        guard let again = try? Request(line: written), again == request else {
            preconditionFailure("a request reads otherwise once it is written")
        }
    }

    private func check(_ reference: NetworkReference) {
        guard case .new(let network) = reference else { return }
        precondition((1...SSID.maximumLength).contains(network.ssid.bytes.count))
        switch network.credential {
        case .none: precondition(network.security?.isOpenToAll == true, "a password was lost")
        case .password(let password):
            precondition((try? Passphrase.validate(password, for: network.security)) != nil)
            precondition(network.security?.usesPassphrase ?? true)
        case .sealed(let sealed):
            precondition(sealed.sealed.bytes.count == SealedPassword.length && network.security?.usesPassphrase ?? true)
        case .enterprise(let credential):
            precondition(network.security == .enterprise)
            check(credential)
        case .sealedEnterprise(let sealed):
            precondition(network.security == .enterprise)
            precondition(sealed.sealed.bytes.count <= SealedEnterprise.maximumSteps * SealedEnterprise.paddingStep + 48)
        }
    }

    /// A server is checked by one authority, or by the system's for one name; and the bytes of a credential are one
    /// form of it.
    private func check(_ credential: EnterpriseCredential) {
        precondition(credential.caCertificate != nil || credential.serverName != nil)
        precondition((credential.password == nil) == (credential.method == .tls))
        precondition((credential.privateKey == nil) == (credential.method != .tls))
        for text in [credential.caCertificate, credential.clientCertificate].compactMap(\.self) {
            precondition(EnterpriseCredential.pemLength.contains(text.utf8.count))
        }
        let again = credential.encoded.withBytes { EnterpriseCredential(encoded: $0) }
        precondition(again == credential, "a credential reads otherwise once it is written")
    }

    private mutating func answer(to request: Request) -> Result<Response.Body, ProtocolError> {
        do {
            return .success(try body(answering: request))
        } catch {
            return .failure(error)
        }
    }

    private mutating func body(answering request: Request) throws(ProtocolError) -> Response.Body {
        switch request.content {
        case .device(.updateBackups(let update)): return .backups(try replaceBackups(update))
        case .device(.switchNetwork(let order)):
            let hash = try backup(order.target) { SealContext(of: $0, in: order) }.hash
            guard backups.contains(where: { $0.hash == hash }) else { throw ProtocolError(.unknownNetwork, "unknown") }
            return .switchStatus(SwitchStatus(switchId: hash.base64, phase: .accepted))
        case .device(.agreeKey):
            return .key(try opener.key)
        case .device(.getSwitch(let query)), .device(.confirmSwitch(let query)):
            throw ProtocolError(.unknownSwitch, "no \(query.switchId)", details: ["switchId": .text(query.switchId)])
        default: return .backups(list)
        }
    }

    private mutating func replaceBackups(_ update: BackupsUpdate) throws(ProtocolError) -> BackupList {
        if let expected = update.ifRevision, expected != revision {
            throw ProtocolError(.revisionConflict, "changed", details: ["revision": .number(revision)])
        }
        guard update.networks.count <= Self.maximum else { throw ProtocolError(.tooManyNetworks, "too many") }
        var networks: [BackupNetwork] = []
        for reference in update.networks {
            let network = try backup(reference) { SealContext(of: $0, in: update) }
            guard !networks.contains(where: { $0.ssid == network.ssid }) else {
                throw ProtocolError(.duplicateNetwork, "twice")
            }
            networks.append(network)
        }
        if networks != backups { (backups, revision) = (networks, revision + 1) }
        return list
    }

    private func backup(
        _ reference: NetworkReference, _ context: (NewNetwork) -> SealContext
    ) throws(ProtocolError) -> BackupNetwork {
        switch reference {
        case .stored(let hash):
            guard let stored = backups.first(where: { $0.hash == hash }) else {
                throw ProtocolError(.unknownNetwork, "unknown", details: ["hash": .text(hash.base64)])
            }
            return stored
        case .new(let network):
            var (password, enterprise): (Secret?, EnterpriseCredential?)
            switch network.credential {
            case .none: break
            case .enterprise(let plain): enterprise = plain
            case .sealedEnterprise(let sealed): enterprise = try opener.open(sealed, in: context(network))
            case .password(let plain): password = plain
            case .sealed(let sealed): password = try opener.open(sealed, in: context(network))
            }
            let hash =
                enterprise.map { NetworkHash(localKey: Self.localKey, ssid: network.ssid, enterprise: $0) }
                ?? NetworkHash(localKey: Self.localKey, ssid: network.ssid, password: password)
            return BackupNetwork(
                ssid: network.ssid, hash: hash,
                security: network.security ?? .wpa2wpa3, isHidden: network.isHidden)
        }
    }
}
