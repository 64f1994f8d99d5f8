import DBus

/// Improv's GATT service and advertisement for BlueZ (doc/gatt-api.txt and doc/advertising-api.txt of BlueZ). This
/// value takes D-Bus calls and returns answers.
struct GATTApplication: Sendable {
    static let root = "/org/altnet/improv"
    static let service = root + "/service"
    static let advertisement = root + "/advertisement"

    /// Improv's characteristics. The raw value is the last digit of the UUID.
    enum Characteristic: Int, Sendable, CaseIterable {
        case state = 1
        case error = 2
        case command = 3
        case result = 4
        case capabilities = 5

        var path: String { "\(GATTApplication.service)/characteristic\(rawValue)" }
        var uuid: String { GATTApplication.uuid(rawValue) }
        var flags: [String] {
            switch self {
            case .state, .error, .result: ["read", "notify"]
            case .command: ["write", "write-without-response"]
            case .capabilities: ["read"]
            }
        }
    }

    static func uuid(_ digit: Int) -> String { "00467768-6228-2272-4663-27747826800\(digit)" }
    static let serviceDataUUID = "00004677-0000-1000-8000-00805f9b34fb"

    /// Maximum length of a name in the scan response in bytes: 31, less 2 for length and type.
    static let longestName = 29

    var state = ImprovState.authorizationRequired
    var error = ImprovError.none
    var result: [UInt8] = []
    let capabilities: ImprovCapabilities
    var name = "altnet"

    enum Event: Sendable, Equatable {
        /// A client has written a part of a command.
        case written(client: String, [UInt8], offset: Int?)
        /// BlueZ has ended the advertisement.
        case released
    }

    // MARK: Calls

    /// - Returns: the answer, or nil for an unknown method; and the event that the call causes.
    func answer(_ call: DBusMessage) -> (answer: DBusMessage?, event: Event?) {
        guard let path = call.path, let interface = call.interface, let member = call.member else { return (nil, nil) }
        switch (interface, member) {
        case ("org.freedesktop.DBus.ObjectManager", "GetManagedObjects") where path == Self.root:
            return (.answer(to: call, [managedObjects]), nil)
        case ("org.freedesktop.DBus.Properties", "GetAll"):
            guard let name = call.body.first?.text, let properties = properties(of: path, name) else {
                return (nil, nil)
            }
            return (.answer(to: call, [.dictionary(properties)]), nil)
        case ("org.freedesktop.DBus.Properties", "Get"):
            guard call.body.count == 2, let name = call.body[0].text,
                let value = properties(of: path, name)?.first(where: { $0.0 == call.body[1].text })?.1
            else { return (nil, nil) }
            return (.answer(to: call, [.variant(value)]), nil)
        case ("org.bluez.LEAdvertisement1", "Release") where path == Self.advertisement:
            return (.answer(to: call), .released)
        case ("org.bluez.GattCharacteristic1", _):
            guard let characteristic = Characteristic.allCases.first(where: { $0.path == path }) else {
                return (nil, nil)
            }
            return answer(call, member, of: characteristic)
        default:
            return (nil, nil)
        }
    }

    private func answer(
        _ call: DBusMessage, _ member: String, of characteristic: Characteristic
    ) -> (DBusMessage?, Event?) {
        switch member {
        case "ReadValue" where characteristic != .command:
            let offset = call.body.first?.members["offset"]?.number ?? 0
            let value = value(of: characteristic)
            guard offset <= UInt64(value.count) else {
                return (
                    .failure(of: call, "org.bluez.Error.InvalidOffset", "the offset is beyond the end of the value"),
                    nil
                )
            }
            return (.answer(to: call, [.bytes(Array(value.dropFirst(Int(offset))))]), nil)
        case "WriteValue" where characteristic == .command:
            guard case .bytes(let bytes)? = call.body.first, bytes.count <= 512 else {
                return (.failure(of: call, "org.bluez.Error.InvalidValueLength", "no value"), nil)
            }
            let options = call.body.dropFirst().first?.members ?? [:]
            let event = Event.written(
                client: options["device"]?.text ?? "", bytes,
                offset: options["offset"]?.number.map { Int(clamping: $0) })
            return (.answer(to: call), event)
        // BlueZ tracks which clients subscribe.
        case "StartNotify", "StopNotify": return (.answer(to: call), nil)
        default:
            return (.failure(of: call, "org.bluez.Error.NotSupported", "not supported by this characteristic"), nil)
        }
    }

    func value(of characteristic: Characteristic) -> [UInt8] {
        switch characteristic {
        case .state: [state.rawValue]
        case .error: [error.rawValue]
        case .result: result
        case .capabilities: [capabilities.rawValue]
        case .command: []
        }
    }

    // MARK: Properties

    private func properties(of path: String, _ interface: String) -> [(String, DBusValue)]? {
        switch (path, interface) {
        case (Self.service, "org.bluez.GattService1"):
            return [("UUID", .string(Self.uuid(0))), ("Primary", .boolean(true))]
        case (Self.advertisement, "org.bluez.LEAdvertisement1"): return advertisement
        case (_, "org.bluez.GattCharacteristic1"):
            guard let characteristic = Characteristic.allCases.first(where: { $0.path == path }) else { return nil }
            return [
                ("UUID", .string(characteristic.uuid)), ("Service", .objectPath(Self.service)),
                ("Flags", .strings(characteristic.flags)),
            ]
        default: return nil
        }
    }

    private var managedObjects: DBusValue {
        let objects =
            [(Self.service, "org.bluez.GattService1")]
            + Characteristic.allCases.map { ($0.path, "org.bluez.GattCharacteristic1") }
        return .array(
            of: "{oa{sa{sv}}}",
            objects.map { path, interface in
                .entry(
                    .objectPath(path),
                    .array(
                        of: "{sa{sv}}",
                        [.entry(.string(interface), .dictionary(properties(of: path, interface) ?? []))]))
            })
    }

    /// Properties of the advertisement. Its 31 bytes contain flags (3, added by BlueZ), service UUID (18) and service
    /// data (10). The scan response contains the name.
    private var advertisement: [(String, DBusValue)] {
        [
            ("Type", .string("peripheral")), ("ServiceUUIDs", .strings([Self.uuid(0)])), ("ServiceData", serviceData),
            ("LocalName", .string(shortName)),
        ]
    }

    var serviceData: DBusValue {
        .dictionary([(Self.serviceDataUUID, .bytes([state.rawValue, capabilities.rawValue, 0, 0, 0, 0]))])
    }

    /// Leading characters of the name, at most ``longestName`` bytes.
    private var shortName: String {
        var short = ""
        for character in name where short.utf8.count + character.utf8.count <= Self.longestName {
            short.append(character)
        }
        return short
    }
}

struct BlueZAdapter: Sendable, Equatable {
    let path: String
    let isPowered: Bool

    /// - Parameters:
    ///   - name: name such as `hci0`; nil for the first adapter.
    ///   - objects: answer of BlueZ's object manager.
    /// - Returns: nil if no adapter supports the peripheral role.
    static func find(_ name: String?, in objects: DBusValue?) -> BlueZAdapter? {
        let adapters = (objects?.members ?? [:]).compactMap { path, interfaces -> BlueZAdapter? in
            let interfaces = interfaces.members
            guard let adapter = interfaces["org.bluez.Adapter1"]?.members, interfaces["org.bluez.GattManager1"] != nil,
                interfaces["org.bluez.LEAdvertisingManager1"] != nil
            else { return nil }
            return BlueZAdapter(path: path, isPowered: adapter["Powered"]?.flag ?? false)
        }
        return adapters.filter { adapter in name.map { adapter.path.hasSuffix("/" + $0) } ?? true }
            .min { $0.path < $1.path }
    }
}

/// Powers an adapter on once for each start of bluetoothd. If a user switches the adapter off later, it stays off.
struct AdapterPower: Sendable {
    /// Path of the adapter that was in use and is off.
    private(set) var awaited: String?
    private var used: Use?

    private struct Use: Equatable {
        let path, owner: String
    }

    enum Step: Equatable {
        case use, powerOn
        /// The adapter was switched off while in use.
        case wait
    }

    /// - Parameter owner: unique bus name of bluetoothd. After a restart, bluetoothd has another name.
    mutating func step(for adapter: BlueZAdapter, of owner: String) -> Step {
        awaited = nil
        if adapter.isPowered { return .use }
        guard used == Use(path: adapter.path, owner: owner) else { return .powerOn }
        awaited = adapter.path
        return .wait
    }

    /// Records that the service is registered at the adapter.
    mutating func use(_ adapter: BlueZAdapter, of owner: String) { used = Use(path: adapter.path, owner: owner) }
}
