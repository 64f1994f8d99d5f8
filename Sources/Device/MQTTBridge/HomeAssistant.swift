import AgentModel

/// Discovery message of the device for Home Assistant 2024.12 or newer, with all entities (MQTT device discovery).
///
/// Network names come from strangers. They and the device's name appear in values only, never in a template, which
/// Home Assistant would execute.
struct HomeAssistantDevice {
    let topics: Topics
    let deviceId: String
    /// Name of the device; nil without one.
    let name: DeviceName?
    let firmware: String
    let hardwareAddresses: [String]
    /// Address of the device's page; nil without one.
    let page: String?
    let networks: [String]

    static let noChoice = "None"
    /// Seconds until a command from Home Assistant expires.
    static let commandLife = 60
    /// Kinds of decisions for Home Assistant; all others become `other`.
    static let decisions = [
        "join", "online", "lost", "failed", "blocked", "search", "stay", "unusable", "usable", "standby", "recovery",
        "command", "password", "rescue", "floor", "uplink", "other",
    ]

    /// - Throws: an encoding error, which is a bug.
    func message() throws -> [UInt8] {
        var device: [String: JSONText] = [
            "ids": .list([.text(Topics.objectID(deviceId))]), "name": .text(name?.text ?? deviceId),
            "mf": .text("altnet"), "mdl": .text("altnet"), "sw": .text(firmware), "sn": .text(deviceId),
            "cns": .list(hardwareAddresses.map { .list([.text("mac"), .text($0)]) }),
        ]
        if let page { device["cu"] = .text(page) }
        return try OutsideJSON.encode(
            JSONText.object([
                "dev": .object(device),
                "o": .object(["name": .text("altnet"), "sw": .text(firmware)]),
                "qos": .number(1),
                "cmps": .object(Dictionary(uniqueKeysWithValues: components.map { ($0.name, .object($0.members)) })),
            ]))
    }

    private struct Component {
        let name: String
        var members: [String: JSONText]
    }

    /// - Parameter follows: whether the entity is unavailable while the device is offline.
    private func component(
        _ name: String, _ platform: String, _ title: String, follows: Bool = true, _ members: [String: JSONText]
    ) -> Component {
        var members = members
        members["p"] = .text(platform)
        members["name"] = .text(title)
        members["uniq_id"] = .text("\(Topics.objectID(deviceId))_\(name)")
        if follows { members["avty"] = .list([.object(["t": .text(topics.availability)])]) }
        return Component(name: name, members: members)
    }

    private func diagnostic(
        _ name: String, _ title: String, _ topic: String, _ template: String, _ members: [String: JSONText] = [:]
    ) -> Component {
        component(
            name, "sensor", title,
            members.merging(
                ["stat_t": .text(topic), "val_tpl": .text(template), "ent_cat": .text("diagnostic")]
            ) { given, _ in given })
    }

    private func button(_ name: String, _ title: String, _ members: [String: JSONText] = [:]) -> Component {
        component(
            name, "button", title,
            members.merging([
                "cmd_t": .text(topics.homeAssistant),
                "cmd_tpl": .text(#"{"action":"\#(name)","expires":\#(Self.expires)}"#),
            ]) { given, _ in given })
    }

    private static let expires = "{{ (now().timestamp() + \(commandLife)) | int }}"

    private var components: [Component] {
        [
            component(
                "online", "binary_sensor", "Online", follows: false,
                [
                    "dev_cla": .text("connectivity"), "ent_cat": .text("diagnostic"),
                    "stat_t": .text(topics.availability), "pl_on": .text("online"), "pl_off": .text("offline"),
                ]),
            diagnostic("network", "Network", topics.status, "{{ value_json.name | default('none') }}"),
            diagnostic(
                "reach", "Reaches", topics.status,
                "{{ (value_json.network.connectivity | default({})).level | default('none') }}",
                [
                    "dev_cla": .text("enum"),
                    "ops": .list((["none"] + ReachLevel.allCases.map(\.rawValue)).map { .text($0) }),
                ]),
            diagnostic(
                "signal", "Signal", topics.signal, "{{ value_json.signal }}",
                ["dev_cla": .text("signal_strength"), "unit_of_meas": .text("dBm"), "stat_cla": .text("measurement")]),
            diagnostic(
                "address", "Address", topics.status,
                "{{ (value_json.network.addresses | default([])) | first | default('none') }}"),
            diagnostic(
                "outages", "Outages today", topics.status, "{{ value_json.outages.today }}",
                ["stat_cla": .text("total_increasing")]),
            diagnostic(
                "offline_time", "Time offline today", topics.status, "{{ value_json.outages.secondsToday }}",
                [
                    "dev_cla": .text("duration"), "unit_of_meas": .text("s"), "stat_cla": .text("total_increasing"),
                    "sug_dsp_prc": .number(0),
                ]),
            component(
                "decision", "event", "Last decision",
                [
                    "stat_t": .text(topics.decision), "ent_cat": .text("diagnostic"),
                    "evt_typ": .list(Self.decisions.map { .text($0) }),
                    "val_tpl": .text(
                        "{{ {'event_type': value_json.kind if value_json.kind in ["
                            + Self.decisions.map { "'\($0)'" }.joined(separator: ", ")
                            + "] else 'other', 'reason': value_json.reason, 'text': value_json.text} | to_json }}"),
                ]),
            component(
                "select", "select", "Wi-Fi network",
                [
                    "stat_t": .text(topics.status), "val_tpl": .text("{{ value_json.selected }}"),
                    "cmd_t": .text(topics.homeAssistant),
                    "cmd_tpl": .text(
                        #"{"action":"switch","network":{{ value | to_json }},"expires":\#(Self.expires)}"#),
                    "ops": .list(networks.map { .text($0) }),
                ]),
            button("home", "Return home"),
            button("scan", "Scan", ["ent_cat": .text("diagnostic")]),
            button("identify", "Identify", ["dev_cla": .text("identify"), "ent_cat": .text("diagnostic")]),
            component(
                "firmware", "update", "Firmware",
                [
                    "dev_cla": .text("firmware"), "ent_cat": .text("diagnostic"), "stat_t": .text(topics.status),
                    "val_tpl": .text(
                        "{{ {'installed_version': value_json.firmware.installed, "
                            + "'latest_version': value_json.firmware.latest} | to_json }}"),
                ]),
        ]
    }
}

enum JSONText: Encodable {
    case text(String)
    case number(Int)
    case list([JSONText])
    case object([String: JSONText])

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .list(let list): try container.encode(list)
        case .object(let members): try container.encode(members)
        }
    }
}
