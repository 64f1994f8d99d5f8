import AgentModel

public struct ButtonSettings: Sendable, Equatable {
    /// Key code from `linux/input-event-codes.h`.
    public var key: UInt16
    /// Shortest hold that starts provisioning, below `reset`.
    public var provisioning: Duration
    /// Shortest hold that resets the device.
    public var reset: Duration
}

/// Measures how long the button is held. The action follows on release: a user can cancel by holding longer, and a
/// stuck button does nothing.
package struct ButtonHold: Sendable {
    package enum Event: Sendable, Equatable {
        case pressed
        case released
        /// The state of the button is unknown, because events were lost.
        case lost
    }

    package enum Action: String, Sendable, Equatable {
        case provisioning
        case factoryReset
    }

    /// Time beyond `reset` after which the button counts as stuck.
    package static let stuckAfter = Duration.seconds(30)

    private let settings: ButtonSettings
    /// Start of the press; nil if it is unknown or the button is not pressed.
    private var began: Duration?

    package init(_ settings: ButtonSettings) { self.settings = settings }

    /// - Parameter time: monotonic time of the event, from the kernel.
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

/// Key codes that buttons usually have, by kernel name.
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
        "\(numbers.keys.sorted().joined(separator: ", ")), or the number of a key (linux/input-event-codes.h) "
        + "from 1 to 767"
}

extension Setting {
    static let buttonKey = Setting(
        "BUTTON_KEY", .other(InputKey.allowed), .implied("none", example: "KEY_WPS_BUTTON"), .onRestart,
        "The device's button, as a key of an input device. Docs/integrator/manufacturing.md has the line of config.txt "
            + "for a button on a GPIO line.")
    static let buttonProvisioning = seconds(
        "BUTTON_PROVISION_S", 1...30, standard: .seconds(3), .onRestart,
        "Time to hold the button for provisioning mode (altnet-provisioning.target).")
    static let buttonReset = seconds(
        "BUTTON_RESET_S", 2...60, standard: .seconds(10), .onRestart,
        "Time to hold the button for a factory reset. A button held 30 s longer counts as stuck and does nothing."
    )
}

extension SettingsReader {
    /// - Returns: nil if no button is set.
    mutating func button() -> ButtonSettings? {
        let (provisioning, reset) = (seconds(.buttonProvisioning), seconds(.buttonReset))
        if reset <= provisioning, !isRefused(.buttonProvisioning, .buttonReset) {
            refuse(
                .buttonReset, "is not longer than ALTNET_BUTTON_PROVISION_S", allowed: "a longer time",
                besides: [.buttonProvisioning])
        }
        guard let text = anyText(.buttonKey) else { return nil }
        guard let key = InputKey.number(text) else {
            refuse(.buttonKey, "is \(text.quoted), an unknown key", allowed: InputKey.allowed)
            return nil
        }
        return ButtonSettings(key: key, provisioning: provisioning, reset: reset)
    }
}
