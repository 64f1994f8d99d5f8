import AgentModel
import AppProtocol

// Bodies of Docs/reference/protocol.md, member by member.
extension Shape {
    static func body(of type: MessageType) -> Shape {
        switch type {
        case .getCapabilities: capabilities
        case .getNetwork, .setName: network
        case .getBackups, .updateBackups, .stagePassword, .dropPassword: backups
        case .switchNetwork, .getSwitch, .confirmSwitch: switchStatus
        case .startScan: .object([.required("scanId", .integer(1 ... .max))])
        case .getScan: scan
        case .getHistory:
            .object([.required("truncated", .bool), .required("decisions", .list(decision))])
        case .subscribe: .object([.required("seq", .integer(0 ... .max)), .required("stream", .text)])
        case .agreeKey:
            .object([.required("keyId", .text), .required("publicKey", .base64(32)), .optional("proof", .base64(32))])
        // Shape of an answer to `request.prove`: the device answers the request inside instead.
        case .proveRequest: .object([])
        case .openSession:
            .object([.required("proof", .base64(32)), .required("role", role), .optional("invitation", .bool)])
        case .getKeys, .revokeKey:
            .object([.required("max", .integer(0 ... .max)), .required("keys", .list(appKey))])
        case .addKey, .claimKey: .object([.required("key", appKey), .required("pairingCode", .text)])
        case .getDiagnosis: diagnosis
        case .getPortal, .answerPortal:
            .object([.optional("portal", portal), .optional("request", portalRequest), .optional("problem", .text)])
        case .openRescue, .closeRescue: rescue
        case .getMetrics: .object([.required("metrics", .list(metric))])
        case .getTargets, .updateTargets: targetList
        case .getProviders, .setProvider:
            .object([
                .required(
                    "providers",
                    .list(
                        .object([
                            .required("name", .textOf(ProtocolLimits.providerNameLength)), .required("on", .bool),
                        ])))
            ])
        }
    }

    /// Body of an event; nil for unknown events.
    static func body(ofEvent name: String) -> Shape? {
        switch name {
        case "network.changed": network
        case "signal":
            .object([.required("signal", signal), .required("quality", .integer(0...100))] + radio)
        case "scan.finished":
            .object([
                .optional("scanId", .integer(1 ... .max)),
                .required("outcome", .oneOf(["finished", "aborted", "failed"])),
                .required("networks", .integer(0 ... .max)),
            ])
        case "backups.changed": backups
        case "switch.progress": switchStatus
        case "decision": decision
        case "target.changed": target
        case "portal.request": portalRequest
        case "portal.ended": .object([.required("id", .integer(1 ... .max))])
        case "gap":
            .object([
                .required("reason", .oneOf(["expired", "restarted"])), .required("missed", .integer(0 ... .max)),
            ])
        default: nil
        }
    }

    static let event = Shape.object([
        .required("v", .integer(1...1)), .required("event", .text), .required("seq", .integer(0 ... .max)),
        .required("time", .time), .required("body", .object([])),
    ])

    static let error = Shape.object([
        .required("code", .text), .required("message", .text), .optional("details", .object([])),
    ])

    private static let role = Shape.oneOf(Role.allCases.map(\.rawValue))
    private static let appKey = Shape.object([
        .required("name", .textOf(ProtocolLimits.keyNameLength)), .required("role", role), .required("state", .text),
        .required("sessions", .integer(0 ... .max)), .optional("created", .time), .optional("expires", .time),
        .optional("claimableFor", .integer(0...ProtocolLimits.claimWithin.upperBound)),
    ])
    private static let signal = Shape.integer(-128...0)
    private static let hash = Shape.base64(32)
    private static let radio: [Member] = [
        .optional("bssid", .bssid), .optional("frequency", .integer(1...100_000)),
    ]

    private static let capabilities = Shape.object([
        .required("supportsBackupNetworks", .bool), .required("attributes", .integer(0...Int(UInt32.max))),
        .required("maxBackupNetworks", .integer(0...ProtocolLimits.updateEntries)),
        .required("versions", .list(.integer(1 ... .max))),
        .required("deviceId", .text), .required("firmware", .text), .required("features", .list(.text)),
    ])

    private static let network = Shape.object(
        naming: .optional,
        [
            .required("state", .oneOf(["offline", "joining", "waitingForAddress", "online"])),
            .required("flags", .integer(0...Int(UInt32.max))),
            .optional("uplink", uplink), .optional("carrier", uplink), .optional("network", .integer(0...2)),
            .optional("signal", modemSignal), .optional("quality", .integer(0...100)), .optional("hash", hash),
            .required("addresses", .list(.text)), .required("since", .time), .optional("connectivity", connectivity),
            .optional("handover", handover),
            .optional("standby", .object(naming: .required, [.optional("hash", hash)])),
            .optional("modem", modem), .optional("rescue", rescue), .optional("metered", .bool),
            .optional("deviceName", .textOf(1...DeviceName.maximumLength)),
        ] + radio)

    private static let metric = Shape.object([
        .required("name", .text), .required("kind", .oneOf(["counter", "gauge", "histogram"])),
        .optional("unit", .text), .optional("scale", .integer(1 ... .max)), .required("help", .text),
        .required(
            "samples",
            .list(
                .object([
                    .required("labels", .object([])), .optional("count", .integer(0 ... .max)),
                    .optional("buckets", .list(.object([.required("count", .integer(0 ... .max))]))),
                ]))),
    ])

    private static let rescue = Shape.object(
        naming: .required,
        [
            .required("open", .bool), .optional("since", .time), .optional("why", .text), .optional("radio", .text),
            .optional("stations", .integer(0 ... .max)), .optional("closesIn", .integer(0 ... .max)),
            .optional("problem", .text),
        ])

    /// Signal of a modem in dBm. It can be weaker than a Wi-Fi signal.
    private static let modemSignal = Shape.integer(-200...0)
    private static let modem = Shape.object([
        .required("interface", .text), .required("state", .oneOf(ModemStatus.State.allCases.map(\.rawValue))),
        .optional("quality", .integer(0...100)), .optional("rssi", modemSignal), .optional("rsrp", modemSignal),
        .optional("technology", .oneOf(ModemStatus.Technology.allCases.map(\.rawValue))), .optional("operator", .text),
    ])

    private static let handover = Shape.object([
        .required("mode", .oneOf(["makeBeforeBreak", "breakBeforeMake"])),
        .optional("obstacle", .oneOf(Handover.Obstacle.allCases.map(\.rawValue))),
    ])

    private static let uplink = Shape.oneOf(["wifi", "wired", "cellular", "other"])

    private static let backups = Shape.object([
        .required("max", .integer(0...ProtocolLimits.updateEntries)), .required("revision", .integer(0 ... .max)),
        .required("networks", .list(backup)), .optional("home", backup), .optional("chosen", backup),
        .optional("staged", .list(staged)),
    ])

    private static let staged = Shape.object(
        naming: .required,
        [
            .required("changeId", .textOf(ProtocolLimits.changeIdLength)),
            .required("phase", .oneOf(StagedPasswordStatus.Phase.allCases.map(\.rawValue))),
            .optional("hash", hash), .required("since", .time), .optional("until", .time),
        ])

    private static let backup = Shape.object(
        naming: .required,
        [
            .required("hash", hash), .required("security", security), .required("hidden", .bool),
            .optional("lastSeen", .time), .optional("lastSignal", signal), .optional("lastFailure", .text),
        ])

    private static let security = Shape.oneOf([
        "open", "owe", "wpa2-psk", "wpa3-sae", "wpa2-wpa3", "enterprise", "wep", "wpa-tkip", "unknown",
    ])

    private static let switchStatus = Shape.object([
        .required("switchId", .text), .required("phase", .oneOf(SwitchPhase.allCases.map(\.rawValue))),
        .optional("reason", .text), .optional("text", .text), .optional("trafficOver", uplink),
    ])

    private static let scan = Shape.object([
        .required("scanning", .bool), .optional("lastScanId", .integer(1 ... .max)), .required("truncated", .bool),
        .required(
            "networks",
            .list(
                .object(
                    naming: .optional,
                    [
                        .required("bssid", .bssid), .required("frequency", .integer(1...100_000)),
                        .optional("channel", .integer(1...300)), .required("signal", signal),
                        .required("quality", .integer(0...100)), .optional("load", .integer(0...100)),
                        .required("security", security),
                        .required("ageMs", .integer(0 ... .max)),
                        .optional(
                            "providers",
                            .listOf(1...ProtocolLimits.providers, .textOf(ProtocolLimits.providerNameLength))),
                    ]))),
    ])

    private static let decision = Shape.object([
        .required("seq", .integer(1 ... .max)), .required("time", .time),
        .required("monotonicMs", .integer(0 ... .max)),
        .required("kind", .text), .required("reason", .text), .required("text", .text),
        .optional("by", .text), .optional("from", .object(naming: .required, [.optional("hash", hash)])),
        .optional("to", .object(naming: .required, [.optional("hash", hash)])),
        .required(
            "candidates",
            .list(.object(naming: .required, [.required("verdict", .text), .optional("signal", signal)] + radio))),
    ])
}

extension Shape {
    static let connectivity = Shape.object([
        .optional("level", level), .required("required", level),
        .required("internet", .oneOf(InternetState.allCases.map(\.rawValue))), .optional("checksInternet", .bool),
        .optional("problem", problem), .optional("portal", portal), .required("targets", .list(target)),
        .required("reachability", .list(.oneOf(ReachabilityFlags.allNames.map(\.name)))), .optional("checked", .time),
    ])

    static let target = Shape.object([
        .required("name", .text), .required("host", .text), .required("port", .integer(1...65535)),
        .required("state", .oneOf(ConnectionState.allCases.map(\.rawValue))), .required("online", .bool),
        .optional("reason", problem), .required("since", .time),
    ])

    static let targetList = Shape.object([
        .required("max", .integer(1 ... .max)),
        .required("source", .oneOf(TargetList.Source.allCases.map(\.rawValue))), .required("required", level),
        .required(
            "targets",
            .list(
                .object([
                    .required("name", .textOf(ProtocolLimits.targetNameLength)),
                    .required("url", .textOf(ProtocolLimits.targetURLLength)),
                ]))),
    ])

    static let portal = Shape.object([
        .optional("url", portalURL), .required("state", .oneOf(Portal.State.allCases.map(\.rawValue))),
        .optional("provider", .text), .optional("secondsRemaining", .integer(0 ... .max)),
        .optional("bytesRemaining", .integer(0 ... .max)),
    ])

    static let portalRequest = Shape.object(
        naming: .required,
        [
            .required("id", .integer(1 ... .max)), .required("provider", .text),
            .required("title", .textOf(1...ProtocolLimits.portalTitleLength)),
            .required("message", .textOf(0...ProtocolLimits.portalMessageLength)), .optional("url", portalURL),
            .optional("hash", .base64(32)),
            .required(
                "fields",
                .list(
                    .object([
                        .required("name", .textOf(ProtocolLimits.portalNameLength)),
                        .required("label", .textOf(0...ProtocolLimits.portalTitleLength)),
                        .required("kind", .oneOf(PortalRequest.Field.Kind.allCases.map(\.rawValue))),
                        .required("required", .bool),
                    ]))),
        ])

    static let diagnosis = Shape.object([
        .required(
            "steps",
            .list(
                .object([
                    .required("layer", .oneOf(Diagnosis.Layer.allCases.map(\.rawValue))),
                    .required("result", .oneOf(Diagnosis.Result.allCases.map(\.rawValue))),
                    .required("found", .text), .optional("remedy", .text),
                ]))), .optional("checked", .time),
    ])

    private static let portalURL = Shape.textOf(1...ProtocolLimits.portalURLLength)

    private static let level = Shape.oneOf(ReachLevel.allCases.map(\.rawValue))
    private static let problem = Shape.oneOf(ReachProblem.allCases.map(\.rawValue))
}
