import AgentCore
import AgentModel

public struct RescueSettings: Sendable, Equatable {
    /// Interface, created on the station's radio or present on another radio.
    public var interface: String
    var radio: RescueRadioChoice
    /// Nil for a name derived from the device ID.
    public var name: SSID?
    package var times: RescueAccessPoint.Settings
}

/// Place on the station's radio.
enum RescueRadioChoice: String, CaseIterable {
    /// Beside the station if the radio supports it.
    case auto
    /// Instead of the station, for drivers that promise more than they can do.
    case instead
}

extension RescueSettings {
    /// - Parameter stations: interfaces that are not allowed.
    /// - Returns: nil if it is disabled.
    init?(from reader: inout SettingsReader, besides stations: [String]) {
        let interface = reader.interface(.rescueInterface)
        if stations.contains(interface) {
            reader.refuse(
                .rescueInterface, "is that of a station",
                allowed: "an interface besides ALTNET_INTERFACE and ALTNET_SPARE_INTERFACE")
        }
        let radio = reader.choice(.rescueRadio) ?? RescueRadioChoice.auto
        let name = reader.networkName(.rescueName)
        let times = RescueAccessPoint.Settings(
            unseen: reader.seconds(.rescueUnseen), refused: reader.seconds(.rescueRefused),
            idle: reader.seconds(.rescueIdle), requested: reader.seconds(.rescueTime))
        guard reader.isYes(.rescue) else { return nil }
        (self.interface, self.radio, self.name, self.times) = (interface, radio, name, times)
    }
}

extension Setting {
    private static let times = RescueAccessPoint.Settings()

    static let rescue = Setting(
        "RESCUE", .oneOf(["yes", "no"]), .value("yes"), .onRestart,
        "Open the setup access point when no network is stored, when no stored network is in range or can be joined, "
            + "by the button and by command. With no it never opens.")
    static let rescueInterface = Setting(
        "RESCUE_INTERFACE", .interface, .value("altnet0"), .onRestart,
        "Interface of the setup access point. If it is missing, the agent creates it on the station's radio while the "
            + "access point is open. It needs its own wpa_supplicant, which the Debian package starts.")
    static let rescueRadio = Setting(
        "RESCUE_RADIO", .oneOf(RescueRadioChoice.allCases.map(\.rawValue)), .value(RescueRadioChoice.auto.rawValue),
        .onRestart,
        "How to use the station's radio: together with the station if the radio can (auto), or always instead of it "
            + "(instead).")
    static let rescueName = Setting(
        "RESCUE_SSID", .other("1 to 32 bytes"),
        .implied("altnet- and the last four characters of the device's id", example: "Lamp"), .onRestart,
        "Name of the setup access point. Its password is derived from the device's key and is on the label.")
    static let rescueUnseen = seconds(
        "RESCUE_UNSEEN_S", 30...86_400, standard: times.unseen, .onRestart,
        "Open it when no stored network has been in range for this long.")
    static let rescueRefused = seconds(
        "RESCUE_REFUSED_S", 30...86_400, standard: times.refused, .onRestart,
        "Open it when stored networks have refused the device for this long and none works.")
    static let rescueIdle = seconds(
        "RESCUE_IDLE_S", 10...3600, standard: times.idle, .onRestart,
        "How long a user counts as present after a browser's last request. Until then the access point stays open, and "
            + "a radio that cannot do both joins networks only by command.")
    static let rescueTime = seconds(
        "RESCUE_OPEN_S", 60...86_400, standard: times.requested, .onRestart,
        "How long it stays open after the button, a command or a browser's last request.")
}

extension SettingsReader {
    fileprivate mutating func networkName(_ setting: Setting) -> SSID? {
        guard let text = anyText(setting) else { return nil }
        do throws(InvalidSSID) {
            let name = try SSID(text)
            if !name.bytes.isEmpty { return name }
        } catch {}
        refuse(setting, "is \(text.quoted)", allowed: setting.form.allowed)
        return nil
    }
}
