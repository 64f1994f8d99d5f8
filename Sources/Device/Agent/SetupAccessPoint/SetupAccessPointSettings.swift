import AgentCore
import AgentModel

public struct SetupAccessPointSettings: Sendable, Equatable {
    /// Interface of the access point. It exists on another radio, or the agent creates it on the station's radio.
    public var interface: String
    var radio: SetupAccessPointRadioChoice
    /// SSID; nil for a name derived from the device ID.
    public var name: SSID?
    package var times: SetupAccessPoint.Settings
}

/// How the setup access point uses the station's radio.
enum SetupAccessPointRadioChoice: String, CaseIterable {
    /// Opens the access point beside the station if the radio supports that.
    case auto
    /// Opens the access point instead of the station, for drivers that cannot do what they report.
    case instead
}

extension SetupAccessPointSettings {
    /// - Parameter stations: interfaces of the stations, which are not allowed.
    /// - Returns: nil if the setup access point is disabled.
    init?(from reader: inout SettingsReader, besides stations: [String]) {
        let interface = reader.interface(.setupAccessPointInterface)
        if stations.contains(interface) {
            reader.refuse(
                .setupAccessPointInterface, "is the interface of a station",
                allowed: "an interface besides ALTNET_INTERFACE and ALTNET_SPARE_INTERFACE")
        }
        let radio = reader.choice(.setupAccessPointRadio) ?? SetupAccessPointRadioChoice.auto
        let name = reader.networkName(.setupAccessPointName)
        let times = SetupAccessPoint.Settings(
            unseen: reader.seconds(.setupAccessPointUnseen), refused: reader.seconds(.setupAccessPointRefused),
            idle: reader.seconds(.setupAccessPointIdle), requested: reader.seconds(.setupAccessPointTime))
        guard reader.isYes(.setupAccessPoint) else { return nil }
        (self.interface, self.radio, self.name, self.times) = (interface, radio, name, times)
    }
}

extension Setting {
    private static let times = SetupAccessPoint.Settings()

    static let setupAccessPoint = Setting(
        "SETUP_AP", .oneOf(["yes", "no"]), .value("yes"), .onRestart,
        "Open the setup access point when no network is stored, when no stored network is in range or can be joined, "
            + "by the button and by command. With no it never opens.")
    static let setupAccessPointInterface = Setting(
        "SETUP_AP_INTERFACE", .interface, .value("altnet0"), .onRestart,
        "Interface of the setup access point. If it is missing, the agent creates it on the station's radio while the "
            + "access point is open. It needs its own wpa_supplicant, which the Debian package starts.")
    static let setupAccessPointRadio = Setting(
        "SETUP_AP_RADIO", .oneOf(SetupAccessPointRadioChoice.allCases.map(\.rawValue)),
        .value(SetupAccessPointRadioChoice.auto.rawValue),
        .onRestart,
        "How to use the station's radio: together with the station if the radio can (auto), or always instead of it "
            + "(instead).")
    static let setupAccessPointName = Setting(
        "SETUP_AP_SSID", .other("1 to 32 bytes"),
        .implied("altnet- and the last four characters of the device's id", example: "Lamp"), .onRestart,
        "Name of the setup access point. Its password is derived from the device's key and is on the label.")
    static let setupAccessPointUnseen = seconds(
        "SETUP_AP_UNSEEN_S", 30...86_400, standard: times.unseen, .onRestart,
        "Open it when no stored network has been in range for this long.")
    static let setupAccessPointRefused = seconds(
        "SETUP_AP_REFUSED_S", 30...86_400, standard: times.refused, .onRestart,
        "Open it when stored networks have refused the device for this long and none works.")
    static let setupAccessPointIdle = seconds(
        "SETUP_AP_IDLE_S", 10...3600, standard: times.idle, .onRestart,
        "How long a user counts as present after a browser's last request. Until then the access point stays open, and "
            + "a radio that cannot do both joins networks only by command.")
    static let setupAccessPointTime = seconds(
        "SETUP_AP_OPEN_S", 60...86_400, standard: times.requested, .onRestart,
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
