import AgentModel
import AppProtocol

/// A device without a radio: it keeps a list of networks as the agent does, and opens what is sealed.
struct FuzzedDevice {
    private static let localKey = Secret(text: "0123456789abcdef")
    private static let maximum = 3

    private var backups: [BackupNetwork] = []
    private var revision = 0
    private let opener = try? SealOpener(DeviceKey(deviceId: "bench-01", localKey: localKey))

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

    /// What was accepted keeps to the limits, and is the same once it is written and read again.
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
        case .device(.getHistory(let query)): precondition(ProtocolLimits.historyDecisions.contains(query.limit))
        case .device(.answerPortal(let answer)):
            precondition(answer.values?.count ?? 0 <= ProtocolLimits.portalFields)
            for (name, value) in answer.values ?? [:] {
                precondition(ProtocolLimits.portalNameLength.contains(name.utf8.count))
                precondition(value.count <= ProtocolLimits.portalValueLength)
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
            precondition((try? Passphrase.validate(password)) != nil)
            precondition(network.security?.usesPassphrase ?? true)
        case .sealed(let sealed):
            precondition(sealed.box.count == SealedPassword.length && network.security?.usesPassphrase ?? true)
        }
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
            let hash = try backup(order.target).hash
            guard backups.contains(where: { $0.hash == hash }) else { throw ProtocolError(.unknownNetwork, "unknown") }
            return .switchStatus(SwitchStatus(switchId: hash.base64, phase: .accepted))
        case .device(.agreeKey):
            guard let opener else { preconditionFailure("there is no key") }
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
            let network = try backup(reference)
            guard !networks.contains(where: { $0.ssid == network.ssid }) else {
                throw ProtocolError(.duplicateNetwork, "twice")
            }
            networks.append(network)
        }
        if networks != backups { (backups, revision) = (networks, revision + 1) }
        return list
    }

    private func backup(_ reference: NetworkReference) throws(ProtocolError) -> BackupNetwork {
        switch reference {
        case .stored(let hash):
            guard let stored = backups.first(where: { $0.hash == hash }) else {
                throw ProtocolError(.unknownNetwork, "unknown", details: ["hash": .text(hash.base64)])
            }
            return stored
        case .new(let network):
            var password: Secret?
            switch network.credential {
            case .none: break
            case .password(let plain): password = plain
            case .sealed(let sealed): password = try opener?.open(sealed, ssid: network.ssid)
            }
            return BackupNetwork(
                ssid: network.ssid, hash: NetworkHash(localKey: Self.localKey, ssid: network.ssid, password: password),
                security: network.security ?? .wpa2wpa3, isHidden: network.isHidden)
        }
    }
}
