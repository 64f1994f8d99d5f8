import AppProtocol
import MQTTBridge

/// Settings of `altnet-mqtt`. The agent uses and enforces the role of the broker's clients, and checks all values, as
/// they share a file.
extension Setting {
    static let mqtt = [
        mqtt(
            .broker, .implied("none", example: "mqtts://broker.example.com"),
            "The broker of MQTT 5 at which the device appears: over TLS, or in the plain."),
        mqtt(
            .user, .implied("none", example: "pump-7"),
            "The name for the broker. The password is a file: see ALTNET_MQTT_SECRETS."),
        mqtt(
            .secrets, .implied("the service's credentials, which are /etc/altnet/mqtt", example: "/etc/altnet/mqtt"),
            "The folder with the files ca.pem, certificate.pem, key.pem, password and psk, each where it is wanted."),
        mqtt(
            .clientID, .implied("altnet- and the device's id", example: "pump-7"),
            "The name by which the broker knows the connection. No other client may have it."),
        mqtt(.prefix, .value(standard.prefix), "What the device's topics begin with."),
        mqtt(
            .commands, .value(standard.role?.rawValue ?? "none"),
            "What those may do who publish requests at the broker: nothing, ask (see), move the device too (switch), or also "
                + "change what is stored (manage). Passwords have to be sealed in any case."),
        mqtt(
            .discovery, .value(standard.discoveryPrefix ?? "no"),
            "The topic below which Home Assistant looks for devices; no: it is told nothing."),
        mqtt(.signal, .value(text(standard.signalInterval)), "How often the signal is told at most."),
        mqtt(
            .keepAlive, .value(text(standard.keepAlive)),
            "After how long without a word the connection to the broker is tried."),
        mqtt(
            .willDelay, .value(text(standard.willDelay)),
            "How long the broker waits, after the connection is gone, before it tells that the device is offline. A planned move "
                + "has to be over by then."),
        mqtt(
            .session, .value(text(standard.sessionExpiry)),
            "How long the broker keeps what comes for the device while it is away; at least ALTNET_MQTT_WILL_DELAY_S counts."
        ),
        mqtt(
            .spread, .value(text(standard.spread)),
            "Over how long the devices of a fleet come back that lost the same broker or network: the longest first wait."
        ),
        mqtt(
            .retry, .value(text(standard.longestWait)),
            "The longest wait between two attempts to connect; at least twice ALTNET_MQTT_SPREAD_S counts."),
    ]

    private static let standard = BridgeSettings()

    private static func text(_ duration: Duration) -> String { "\(duration.components.seconds)" }

    private static func mqtt(_ name: BridgeOptions.Name, _ standard: Standard, _ meaning: String) -> Setting {
        let form: SettingForm =
            switch name.form {
            case .seconds(let range): .number(range, .seconds)
            case .oneOf(let words): .oneOf(words)
            case .path: .path
            case .text(let words): .other(words)
            }
        return Setting("MQTT_" + name.rawValue, form, standard, .onRestart, meaning)
    }
}

extension SettingsReader {
    /// Returns the role of the broker's clients, and records values that `altnet-mqtt` would refuse.
    mutating func brokerRole() -> Role {
        var values: [BridgeOptions.Name: String] = [:]
        for (name, setting) in zip(BridgeOptions.Name.allCases, Setting.mqtt) { values[name] = anyText(setting) }
        do throws(BridgeOptions.Faults) {
            return try BridgeOptions(values).bridge.role ?? .see
        } catch {
            for fault in error.faults {
                guard let setting = Setting.mqtt.first(where: { $0.name == "ALTNET_MQTT_" + fault.name }) else {
                    continue
                }
                refuse(setting, "is \(fault.value.quoted)", allowed: setting.form.allowed)
            }
            return .see
        }
    }
}
