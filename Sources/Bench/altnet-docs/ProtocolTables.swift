import AgentModel
import AppProtocol
import AppServer
import Harness

/// Tables of the protocol page, generated from the code.
enum ProtocolTables {
    static var flags: String {
        let rows: [(name: String, uplink: Uplink?, radioPresent: Bool, signal: String)] = [
            ("Wi-Fi", .wifi, true, "yes"), ("wired", .wired, true, "of the Wi-Fi link beside it, if there is one"),
            ("cellular", .cellular, true, "of the modem, if it is known"), ("none", nil, true, "no"),
            ("none, and no Wi-Fi interface", nil, false, "no"),
        ]
        return Markdown.table(
            ["uplink", "`uplink`", "`network`", "`signal`", "update", "switch", "`flags`"],
            rows.map { row in
                let flags = NetworkFlags.allowed(
                    uplink: row.uplink, radioPresent: row.radioPresent, switchInProgress: false)
                return [
                    row.name, row.uplink.map { Markdown.code($0.rawValue) } ?? "absent",
                    row.uplink?.networkType.map { "\($0)" } ?? "absent", row.signal,
                    flags.contains(.canUpdateBackups) ? "yes" : "no", flags.contains(.canSwitch) ? "yes" : "no",
                    "\(flags.rawValue)",
                ]
            })
    }

    static var errors: String {
        Markdown.table(
            ["code", "Matter status", "exit status", "cause", "remedy"],
            ErrorCode.allCases.map { code in
                let status = "\(code.matterStatus)"
                return [
                    Markdown.code(code.rawValue), status.prefix(1).uppercased() + status.dropFirst(),
                    "\(ExitStatus(code.kind).rawValue)", code.cause, code.remedy,
                ]
            })
    }

    /// Checks of the harness, in the order of execution.
    static var checks: String {
        Markdown.table(
            ["section", "check", "requirement"],
            Check.all.map { [$0.section, Markdown.code($0.id), $0.title] })
    }

    /// A limit, and the result when a client exceeds it.
    private struct Limit {
        let item: String
        let limit: String
        let beyond: String

        init(_ item: String, _ limit: String, _ beyond: String) {
            (self.item, self.limit, self.beyond) = (item, limit, beyond)
        }

        init(_ item: String, _ limit: Int, _ beyond: String) { self.init(item, "\(limit)", beyond) }

        init(_ item: String, _ limit: ClosedRange<Int>, _ beyond: String) {
            self.init(item, Markdown.range(limit), beyond)
        }
    }

    private static func table(_ limits: [Limit]) -> String {
        Markdown.table(["item", "limit", "beyond it"], limits.map { [$0.item, $0.limit, $0.beyond] })
    }

    static var limits: String { table(lineLimits + networkLimits + portalLimits + keyLimits) }

    private static let malformed = "`malformed`"
    private static let notBelieved = "the provider's answer is ignored"

    private static var lineLimits: [Limit] {
        [
            Limit(
                "bytes of a line, without its line feed", ProtocolLimits.lineLength,
                "`lineTooLong`, and the connection is closed"),
            Limit("levels of objects and lists in a line", ProtocolLimits.nesting, malformed),
            Limit("bytes of an `id`", 1...ProtocolLimits.idLength, malformed),
            Limit(
                "bytes of the first line of a connection from the network", ProtocolLimits.openingLineLength,
                "`lineTooLong`, and the connection is closed"),
            Limit(
                "bytes of WebSocket frames before that line is complete, pings included",
                ProtocolLimits.openingFramesLength, "the connection is closed"),
            Limit("events kept", EventHub.usualCapacity, "a `gap`"),
        ]
    }

    private static var networkLimits: [Limit] {
        let password = Markdown.range(Passphrase.allowedLength)
        let decisions = Markdown.range(ProtocolLimits.historyDecisions)
        return [
            Limit("bytes of an SSID", 1...SSID.maximumLength, "`invalidSsid`"),
            Limit(
                "characters of a password", "\(password), or \(Passphrase.keyDigits) hexadecimal digits",
                "`invalidPassword`"),
            Limit("bytes of a password with `wpa3-sae`", Passphrase.saeLength, "`invalidPassword`"),
            Limit(
                "bytes of PEM text in a credential, normalised", EnterpriseCredential.pemLength,
                "`invalidEnterprise`"),
            Limit("bytes of a user's name", EnterpriseCredential.identityLength, "`invalidEnterprise`"),
            Limit("name servers of a static address", StaticAddress.maximumServers, "`invalidAddress`"),
            Limit("networks in an update", ProtocolLimits.updateEntries, "`tooManyNetworks`"),
            Limit("networks stored", "`max` in backups.get", "`tooManyNetworks`"),
            Limit("bytes of a `changeId`", ProtocolLimits.changeIdLength, malformed),
            Limit("seconds of `keepFor`", ProtocolLimits.keepFor, malformed),
            Limit("SSIDs, and frequencies, of a scan", "\(ProtocolLimits.scanTargets) each", malformed),
            Limit("seconds of `confirmWithin`", ProtocolLimits.confirmWithin, malformed),
            Limit(
                "decisions of a `history.get`",
                "\(decisions), else \(ProtocolLimits.defaultHistoryDecisions)", "the nearest allowed number is used"),
            Limit(
                "seconds that a `diagnosis.get` takes", ProtocolLimits.diagnosisSeconds,
                "a layer that was not checked in time is `skipped`"),
            Limit("targets", ProtocolLimits.targets, malformed),
            Limit("bytes of a target's name", ProtocolLimits.targetNameLength, malformed),
            Limit("bytes of a target's URL", ProtocolLimits.targetURLLength, malformed),
        ]
    }

    private static var portalLimits: [Limit] {
        [
            Limit("providers that claim a network in range", ProtocolLimits.providers, "the others are ignored"),
            Limit("bytes of a provider's name", ProtocolLimits.providerNameLength, "the provider is ignored"),
            Limit(
                "fields of a `portal.request`, and values of a `portal.answer`", ProtocolLimits.portalFields,
                malformed),
            Limit("bytes of a field's name", ProtocolLimits.portalNameLength, malformed),
            Limit("bytes of a value", ProtocolLimits.portalValueLength, malformed),
            Limit("bytes of a title, and of a label", ProtocolLimits.portalTitleLength, notBelieved),
            Limit("bytes of a message to a person", ProtocolLimits.portalMessageLength, notBelieved),
            Limit("bytes of a portal's URL", ProtocolLimits.portalURLLength, "it is left out"),
        ]
    }

    private static var keyLimits: [Limit] {
        let deviceId = Markdown.range(ProtocolLimits.deviceIdLength)
        let localKey = Markdown.range(ProtocolLimits.localKeyLength)
        let boxes = ProtocolLimits.sealingKeyBoxes
        return [
            Limit("bytes of a device id", "\(deviceId), printable ASCII without spaces", ""),
            Limit(
                "bytes of a local key",
                "\(localKey); [80 bits](../integrator/manufacturing.md#provisioning) of entropy", ""),
            Limit("bytes of a `keyId`", ProtocolLimits.keyIdLength, malformed),
            Limit("bytes of the name of an app's key", ProtocolLimits.keyNameLength, malformed),
            Limit("keys of apps beside the owner's", ProtocolLimits.appKeys, "`tooManyKeys`"),
            Limit("seconds of `expiresIn`", ProtocolLimits.keyLifetime, malformed),
            Limit("seconds of `claimWithin`", ProtocolLimits.claimWithin, malformed),
            Limit("seconds until a proved request expires", ProtocolLimits.provedRequestLife, malformed),
            Limit("proved commands remembered until they expire", ProtocolLimits.provedCommands, "`busy`"),
            Limit("proved commands remembered of one key", ProtocolLimits.provedCommandsOfKey, "`busy`"),
            Limit("boxes that a sealing key opens", "\(boxes), and \(boxes) in its grace", "`keyRotated`"),
            Limit(
                "seconds that a sealing key is current", ProtocolLimits.sealingKeyAge,
                "a new key replaces it"),
            Limit("seconds of its grace period", ProtocolLimits.sealingKeyGrace, "`keyRotated`"),
        ]
    }

    static var serverLimits: String {
        let limits = AppServer.Limits()
        let lan = limits.lan
        let waits = lan.wrongKeys.waits
        let busy = "`busy`, and the connection is closed"
        let closed = "the connection is closed"
        return table([
            Limit("connections to the Unix socket", limits.connections, busy),
            Limit("connections from the network", lan.connections, busy),
            Limit("connections from one address", lan.connectionsPerAddress, busy),
            Limit(
                "handshakes at the same time", lan.handshakes,
                "one of the address with the most is closed, else the oldest"),
            Limit(
                "handshakes of one address at the same time", lan.handshakesPerAddress, "the oldest one is closed"),
            Limit("seconds of a handshake", seconds(lan.handshakeTime), closed),
            Limit("seconds without a request or a subscription, in the network", seconds(lan.idleTime), closed),
            Limit("seconds without reading what is sent, in the network", seconds(lan.writeTime), closed),
            Limit("requests of a connection, in the network", rate(lan.requests), "`tooManyRequests`"),
            Limit("requests of an address", rate(lan.requestsPerAddress), "`tooManyRequests`"),
            Limit(
                "seconds that a handshake waits after wrong keys",
                "\(seconds(waits.first)), doubling, up to \(seconds(waits.last))", ""),
        ])
    }

    private static func seconds(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        return seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
    }

    private static func rate(_ rate: AppServer.RequestRate) -> String {
        "\(rate.perSecond) a second, \(rate.burst) at once"
    }
}

extension ErrorCode {
    /// Reason for which a device answers with this code, as a sentence for the page.
    fileprivate var cause: String {
        switch self {
        case .malformed:
            "The line is not a JSON object in UTF-8, or a member is missing or has a wrong type or value; `field` "
                + "names it."
        case .unsupportedVersion: "The device does not speak the version in `v`."
        case .unknownType: "The device does not know this `type`."
        case .lineTooLong: "A line has more than \(ProtocolLimits.lineLength) bytes. The connection is closed."
        case .tooManyNetworks:
            "backups.update has more networks than the device can store, or more than "
                + "\(ProtocolLimits.updateEntries)."
        case .duplicateNetwork: "backups.update names an SSID twice, with the same password."
        case .unknownNetwork: "No network of the device has this hash. The network may have another password now."
        case .passwordMissing: "A network has no hash, no password, no sealed, and its security is not open."
        case .invalidSsid: "An SSID is empty or longer than \(SSID.maximumLength) bytes."
        case .invalidPassword:
            "A password, plain or sealed, is too short, too long or not printable ASCII; or an open network has one."
        case .invalidAddress:
            "A network's static address, gateway or name server is not an address that a host can have there."
        case .invalidEnterprise:
            "A part of an enterprise network's credential is missing, superfluous, too long or not PEM; `field` names "
                + "it."
        case .sealRequired: "A password or a user's credential came over the network without a seal."
        case .sealInvalid:
            "A box does not open with the key that it names: it is for another app, device or request, or was altered."
        case .sealUsed: "A box was opened before."
        case .keyRotated:
            "A box was sealed with a key that the device no longer has, or that has opened its last box."
        case .proofRequired:
            "The first line over the network is not session.open, and the connection is closed; or a broker's request, "
                + "or key.agree, needs the proof of a key."
        case .keyRefused:
            "The proof is for another key, device or certificate, or the device has no key with this name. The "
                + "connection is closed."
        case .keyExpired: "The app's key has expired. The connection is closed."
        case .keyRevoked: "The owner has revoked the app's key. The connection is closed."
        case .unknownKey: "keys.revoke or key.agree names a key that does not exist, or keys.revoke the owner's."
        case .duplicateKey: "keys.add or key.claim names a key that exists already."
        case .tooManyKeys: "The device has \(ProtocolLimits.appKeys) keys of apps, open invitations included."
        case .revisionConflict: "`ifRevision` is not the revision of the list."
        case .alreadyAssociated: "network.switch names the network that the device is on, with the same password."
        case .switchInProgress: "A switch is under way; `switchId` says which."
        case .cannotSwitch: "The traffic goes over another uplink, such as a cable or a modem."
        case .unknownSwitch: "The agent knows no switch with this ID since its start, or has forgotten it."
        case .notWaiting: "switch.confirm came for a switch that does not wait; `phase` has its state."
        case .unknownPortal:
            "portal.answer names a request that is no longer open: it was answered, or the device left the network."
        case .storageFailed: "The key file cannot be written. Nothing has changed."
        case .radioFailed: "The kernel or its driver refused, or the interface is down."
        case .interfaceMissing:
            "The Wi-Fi interface is missing, or the kernel has no Wi-Fi (nl80211)."
        case .scanBusy: "scan.start came while a scan is running."
        case .notPermitted:
            "The role of the user or key does not permit the request. If the user may not use the agent at all, the "
                + "connection is closed."
        case .tooManyRequests:
            "A connection, or all connections of one address, sent requests too fast. The request was not carried "
                + "out."
        case .busy:
            "The device is at its limit of connections, and the connection is closed; or at its limit of requests; or "
                + "it does not know the time yet, which a proved request needs."
        case .unsupported:
            "A member asks for something that the device does not support, such as a security that it cannot join; or "
                + "a connection subscribes a second time (`field` is then `type`)."
        case .internalError: "The agent has a defect."
        }
    }
}
