import AgentModel

/// The button of a device: a key of an input device, and how long it is held for what.
public struct ButtonSettings: Sendable, Equatable {
    /// Its number in `linux/input-event-codes.h`.
    public var key: UInt16
    /// Held this long and less than `reset`, it starts provisioning.
    public var provisioning: Duration
    /// Held this long, it resets the device.
    public var reset: Duration

    public init(key: UInt16, provisioning: Duration, reset: Duration) {
        self.key = key
        self.provisioning = provisioning
        self.reset = reset
    }
}

/// What a press of the button means, which is known when it is let go: so a user who has held it for too long can go on
/// holding, and a button that is stuck does nothing.
package struct ButtonHold: Sendable {
    package enum Event: Sendable, Equatable {
        case pressed
        case released
        /// It is not known any more whether the button is down.
        case lost
    }

    package enum Action: String, Sendable, Equatable {
        case provisioning
        case factoryReset
    }

    /// Held this much longer than for a reset, it is stuck.
    package static let stuckAfter = Duration.seconds(30)

    private let settings: ButtonSettings
    /// When the present press began. A button that is down before it is watched has no beginning.
    private var began: Duration?

    package init(_ settings: ButtonSettings) { self.settings = settings }

    /// - Parameter time: monotonic, as the kernel has noted it.
    package mutating func handle(_ event: Event, at time: Duration) -> Action? {
        switch event {
        case .pressed:
            began = time
            return nil
        case .lost:
            began = nil
            return nil
        case .released:
            guard let began else { return nil }
            self.began = nil
            let held = time - began
            if held < settings.provisioning || held >= settings.reset + Self.stuckAfter { return nil }
            return held < settings.reset ? .provisioning : .factoryReset
        }
    }
}

/// Keys that boards have as buttons, by their names in the kernel.
enum InputKey {
    static let numbers: [String: UInt16] = [
        "KEY_WPS_BUTTON": 529, "KEY_SETUP": 141, "KEY_CONFIG": 171, "KEY_RESTART": 408, "KEY_VENDOR": 360,
        "KEY_POWER": 116, "KEY_PROG1": 148, "KEY_PROG2": 149, "KEY_PROG3": 202, "KEY_PROG4": 203, "BTN_0": 256,
        "BTN_1": 257, "BTN_2": 258, "BTN_3": 259,
    ]

    static func number(_ text: String) -> UInt16? {
        numbers[text] ?? UInt16(text).flatMap { (1...767).contains($0) ? $0 : nil }
    }

    static let allowed =
        "\(numbers.keys.sorted().joined(separator: ", ")), or the number of a key (linux/input-event-codes.h) from 1 to 767"
}

extension Setting {
    static let buttonKey = Setting(
        "BUTTON_KEY", .other(InputKey.allowed), .implied("none", example: "KEY_WPS_BUTTON"), .onRestart,
        "The key of an input device that is the device's button. A button on a GPIO line becomes one by a line in config.txt "
            + "(Docs/integrator/manufacturing.md).")
    static let buttonProvisioning = seconds(
        "BUTTON_PROVISION_S", 1...30, standard: .seconds(3), .onRestart,
        "How long the button is held, and then let go, for provisioning mode (altnet-provisioning.target).")
    static let buttonReset = seconds(
        "BUTTON_RESET_S", 2...60, standard: .seconds(10), .onRestart,
        "How long the button is held, and then let go, for the factory reset. Held 30 s longer, it is stuck, and does nothing."
    )
}

extension SettingsReader {
    /// - Returns: nil where there is no button.
    mutating func button() -> ButtonSettings? {
        let (provisioning, reset) = (seconds(.buttonProvisioning), seconds(.buttonReset))
        if reset <= provisioning, !isRefused(.buttonProvisioning, .buttonReset) {
            refuse(
                .buttonReset, "is not longer than ALTNET_BUTTON_PROVISION_S", allowed: "more than that",
                besides: [.buttonProvisioning])
        }
        guard let text = anyText(.buttonKey) else { return nil }
        guard let key = InputKey.number(text) else {
            refuse(.buttonKey, "is \(text.quoted), no key that is known here", allowed: InputKey.allowed)
            return nil
        }
        return ButtonSettings(key: key, provisioning: provisioning, reset: reset)
    }
}
