import AgentModel
import DBus
import Linux

/// Improv over Bluetooth LE through BlueZ. Waits while the bus, bluetoothd or a powered adapter is missing.
@AgentLoop
public final class BluetoothPeripheral: ImprovTransport {
    private let adapterName: String?
    private let log: @Sendable (String) -> Void
    private let onEvent: @AgentLoop @Sendable (ImprovMachine.Event) -> Void
    private var application: GATTApplication
    private var isWanted = false
    private var connection: DBusConnection?
    /// Adapter at which the service is registered.
    private var adapter: String?
    private var power = AdapterPower()
    private var isAdvertised = false
    private var assemblers: [String: ImprovAssembler] = [:]
    private var retry: LoopTimer?
    private var failures = 0
    private var lastComplaint = ""

    /// Maximum number of clients that may write at the same time, equal to BlueZ's limit of connections.
    private static let mostClients = 8
    private static let pauses = BackOff(first: .seconds(1), last: .seconds(30))
    private static let bluez = "org.bluez"

    /// - Parameter adapter: name such as `hci0`; nil for the first adapter that supports the peripheral role.
    public init(
        adapter: String?, capabilities: ImprovCapabilities, logging log: @escaping @Sendable (String) -> Void,
        onEvent: @escaping @AgentLoop @Sendable (ImprovMachine.Event) -> Void
    ) {
        adapterName = adapter
        (self.log, self.onEvent) = (log, onEvent)
        application = GATTApplication(capabilities: capabilities)
    }

    public func start() { connect() }

    public func end() {
        retry = nil
        connection?.close()
        connection = nil
    }

    // MARK: Output

    public func send(_ state: ImprovState) {
        application.state = state
        notify(.state)
        if isAdvertised {
            change(
                GATTApplication.advertisement, "org.bluez.LEAdvertisement1", ("ServiceData", application.serviceData))
        }
    }

    public func send(_ error: ImprovError) {
        application.error = error
        notify(.error)
    }

    public func send(_ result: ImprovResult) {
        application.result = result.bytes
        notify(.result)
    }

    public func rename(_ name: String) { application.name = name }

    public func advertise(_ isWanted: Bool) {
        self.isWanted = isWanted
        begin { peripheral async throws(DBusError) in try await peripheral.updateAdvertisement() }
    }

    private func notify(_ characteristic: GATTApplication.Characteristic) {
        change(
            characteristic.path, "org.bluez.GattCharacteristic1",
            ("Value", .bytes(application.value(of: characteristic))))
    }

    private func change(_ path: String, _ interface: String, _ property: (String, DBusValue)) {
        guard adapter != nil else { return }
        // Ignores the error: `onEnd` reports the end of the connection.
        try? connection?.signal(
            path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
            [.string(interface), .dictionary([property]), .strings([])])
    }

    // MARK: BlueZ

    private func connect() {
        retry = nil
        connection?.close()
        (connection, adapter, isAdvertised, assemblers) = (nil, nil, false, [:])
        do throws(DBusError) {
            connection = try DBusConnection(
                path: DBusConnection.systemSocket,
                handlers: DBusConnection.Handlers(
                    onCall: { [weak self] in self?.answer($0) }, onSignal: { [weak self] in self?.handle($0) },
                    onEnd: { [weak self] in self?.startOver("\($0)") }))
        } catch {
            return startOver("\(error)")
        }
        begin { peripheral async throws(DBusError) in try await peripheral.register() }
    }

    private func begin(_ work: @escaping @AgentLoop @Sendable (BluetoothPeripheral) async throws(DBusError) -> Void) {
        let connection = connection
        Task { [weak self] in
            guard let self else { return }
            do throws(DBusError) { try await work(self) } catch {
                // Ignores errors of an earlier connection.
                if self.connection === connection { startOver("\(error)") }
            }
        }
    }

    /// Closes the connection, and registers the service again after a pause. bluetoothd drops the registrations of a
    /// closed connection.
    private func startOver(_ reason: String) {
        complain(reason)
        connection?.close()
        (connection, adapter, isAdvertised) = (nil, nil, false)
        retry = LoopTimer(after: Self.pauses.wait(after: failures)) { [weak self] in self?.connect() }
        failures += 1
    }

    private func complain(_ reason: String) {
        if reason != lastComplaint { log(reason) }
        lastComplaint = reason
    }

    private func register() async throws(DBusError) {
        guard let connection else { return }
        let rules = [
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.bluez)'",
            "type='signal',sender='\(Self.bluez)',interface='org.freedesktop.DBus.Properties'",
            "type='signal',sender='\(Self.bluez)',interface='org.freedesktop.DBus.ObjectManager'",
        ]
        for rule in rules { try await connection.call(.bus, "AddMatch", [.string(rule)]) }
        let objects = try await connection.call(
            .init(Self.bluez, "/", "org.freedesktop.DBus.ObjectManager"), "GetManagedObjects")
        guard let found = BlueZAdapter.find(adapterName, in: objects.first) else {
            power = AdapterPower()
            // A signal will announce the next adapter.
            return complain("no Bluetooth adapter found, waiting for \(adapterName ?? "one that can be a peripheral")")
        }
        let owner = try await connection.call(.bus, "GetNameOwner", [.string(Self.bluez)]).first?.text
        switch power.step(for: found, of: owner ?? "") {
        case .use: break
        case .wait:
            // A signal will announce that the adapter is on again.
            return complain("Bluetooth adapter switched off, waiting until it is on: \(found.path)")
        case .powerOn:
            try await connection.call(
                .init(Self.bluez, found.path, "org.freedesktop.DBus.Properties"), "Set",
                [.string("org.bluez.Adapter1"), .string("Powered"), .variant(.boolean(true))])
        }
        try await connection.call(
            .init(Self.bluez, found.path, "org.bluez.GattManager1"), "RegisterApplication",
            [.objectPath(GATTApplication.root), .dictionary([])])
        guard self.connection === connection else { return }
        adapter = found.path
        power.use(found, of: owner ?? "")
        failures = 0
        complain("offering the Improv service on \(found.path)")
        try await updateAdvertisement()
    }

    private func updateAdvertisement() async throws(DBusError) {
        guard let connection, let adapter, isWanted != isAdvertised else { return }
        isAdvertised = isWanted
        let manager = DBusConnection.Target(Self.bluez, adapter, "org.bluez.LEAdvertisingManager1")
        let path = DBusValue.objectPath(GATTApplication.advertisement)
        if isWanted {
            try await connection.call(manager, "RegisterAdvertisement", [path, .dictionary([])])
        } else {
            try await connection.call(manager, "UnregisterAdvertisement", [path])
        }
    }

    // MARK: Input

    private func answer(_ call: DBusMessage) -> DBusMessage? {
        let (answer, event) = application.answer(call)
        switch event {
        case .written(let client, let piece, let offset): receive(piece, offset, of: client)
        case .released:
            // The cause is temporary, such as a powered-off adapter.
            isAdvertised = false
            startOver("BlueZ stopped the advertisement, starting it again")
        case nil: break
        }
        return answer
    }

    private func receive(_ piece: [UInt8], _ offset: Int?, of client: String) {
        var assembler = assemblers[client] ?? ImprovAssembler()
        let event: ImprovMachine.Event?
        do throws(ImprovError) {
            event = try assembler.add(piece, offset: offset, at: .now).map { .command($0) }
        } catch {
            event = .refused(error)
        }
        if assemblers[client] == nil, assemblers.count >= Self.mostClients { assemblers = [:] }
        assemblers[client] = assembler.isEmpty ? nil : assembler
        // Defers the event until BlueZ has its answer, so that the effects come after the answer.
        if let event { Task { onEvent(event) } }
    }

    private func handle(_ signal: DBusMessage) {
        switch signal.member {
        case "NameOwnerChanged":
            guard signal.body.count == 3, signal.body[0].text == Self.bluez else { return }
            if signal.body[2].text?.isEmpty ?? true { return complain("bluetoothd stopped, waiting for it") }
            startOver("bluetoothd started")
        case "InterfacesAdded":
            if adapter == nil, let added = signal.body.dropFirst().first?.members,
                added["org.bluez.LEAdvertisingManager1"] != nil
            {
                startOver("Bluetooth adapter added")
            }
        case "InterfacesRemoved":
            if let adapter, signal.body.first?.text == adapter { startOver("Bluetooth adapter removed") }
        case "PropertiesChanged":
            guard signal.body.count >= 2, let path = signal.path else { return }
            let changed = signal.body[1].members
            switch signal.body[0].text {
            case "org.bluez.Adapter1" where path == adapter:
                // An adapter that is powered off loses its registrations.
                if changed["Powered"]?.flag == true, failures == 0 { startOver("Bluetooth adapter switched on") }
            case "org.bluez.Adapter1" where path == power.awaited:
                if changed["Powered"]?.flag == true { startOver("Bluetooth adapter switched on") }
            case "org.bluez.Device1":
                if changed["Connected"]?.flag == false { assemblers[path] = nil }
            default: break
            }
        default: break
        }
    }
}
