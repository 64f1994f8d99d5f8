import AgentModel
import Testing

@testable import Improv

/// Events in, effects out.
@Suite struct MachineTests {
    private static let fresh = ImprovDevice(
        isProvisioned: false, pages: [], name: "pump-7", hostName: "pump", info: ["altnet", "0.1", "Pi", "pump-7"])
    private static var provisioned: ImprovDevice {
        var device = fresh
        (device.isProvisioned, device.pages) = (true, ["http://10.0.0.2/"])
        return device
    }
    private static let strict = ImprovSettings(authorization: .init(window: .seconds(60), isGivenAtStart: false))
    private static let open = ImprovSettings(authorization: .init(window: .seconds(60), isGivenAtStart: true))
    private static let home = ImprovCommand.join(ssid: ssid("Home"), password: Secret(text: "correct horse"))

    private static func ssid(_ name: String) -> SSID {
        // swift-format-ignore: NeverUseForceTry
        try! SSID(name)
    }

    /// A machine with the moments of its events in seconds.
    private struct Talk {
        var machine: ImprovMachine
        init(_ settings: ImprovSettings, _ medium: ImprovMedium = .bluetooth) {
            machine = ImprovMachine(settings, medium: medium, at: Instant(milliseconds: 0))
        }
        mutating func callAsFunction(_ second: Int64, _ event: ImprovMachine.Event) -> [ImprovMachine.Effect] {
            machine.handle(event, at: Instant(milliseconds: second * 1000)).filter {
                if case .log = $0 { false } else { true }
            }
        }
    }

    private static let join = ImprovMachine.Effect.join(ssid("Home"), Secret(text: "correct horse"))

    @Test func aNewDeviceIsAuthorisedByItsButton() {
        var talk = Talk(Self.strict)
        #expect(talk(0, .device(Self.fresh)) == [.state(.authorizationRequired), .advertise(true)])
        #expect(talk(1, .command(Self.home)) == [.error(.notAuthorized)])
        #expect(talk(2, .authorized) == [.state(.authorized)])
        #expect(talk(3, .command(Self.home)) == [.error(.none), Self.join, .state(.provisioning)])
        #expect(
            talk(5, .joined(.connected(pages: ["http://10.0.0.2/"])))
                == [.state(.provisioned), .result(ImprovResult(.join, texts: ["http://10.0.0.2/"]))])
        // It is found for a minute more, and takes no other network.
        #expect(talk(6, .command(Self.home)) == [.error(.notAuthorized)])
        #expect(talk.machine.deadline == Instant(milliseconds: 65_000))
        #expect(talk(65, .tick) == [.advertise(false)])
        #expect(talk(66, .device(Self.provisioned)) == [])
        #expect(talk(70, .authorized) == [.state(.authorized), .advertise(true)])
        #expect(talk(130, .tick) == [.state(.provisioned), .advertise(false)])
    }

    @Test func theButtonsWordIsGoodForItsTime() {
        var talk = Talk(Self.strict)
        _ = talk(0, .device(Self.fresh))
        _ = talk(2, .authorized)
        #expect(talk.machine.deadline == Instant(milliseconds: 62_000))
        #expect(talk(62, .command(Self.home)) == [.error(.notAuthorized), .state(.authorizationRequired)])
    }

    @Test func aNewDeviceIsAuthorisedAfterItsStart() {
        var talk = Talk(Self.open)
        #expect(talk(4, .device(Self.fresh)) == [.state(.authorized), .advertise(true)])
        #expect(talk(60, .tick) == [.state(.authorizationRequired)])
        #expect(talk(61, .device(Self.fresh)) == [])
        // The agent answers too late for that.
        var late = Talk(Self.open)
        #expect(late(61, .device(Self.fresh)) == [.state(.authorizationRequired), .advertise(true)])
    }

    @Test func aDeviceWithANetworkIsNotAuthorisedByItsStart() {
        var talk = Talk(Self.open)
        #expect(talk(4, .device(Self.provisioned)) == [.state(.provisioned)])
        // Nor does the time of the start go on where the device got its network in another way.
        var other = Talk(Self.open)
        _ = other(4, .device(Self.fresh))
        #expect(other(5, .device(Self.provisioned)) == [.state(.provisioned)])
        #expect(other(6, .command(Self.home)) == [.error(.notAuthorized)])
    }

    @Test func aFailedAttemptIsToldAndTheTimeStartsOver() {
        var talk = Talk(Self.strict)
        _ = talk(0, .device(Self.fresh))
        _ = talk(0, .authorized)
        _ = talk(50, .command(Self.home))
        // The time passes during the attempt, which goes on.
        #expect(talk(61, .tick) == [])
        #expect(talk(70, .joined(.failed("wrongKey"))) == [.error(.unableToConnect), .state(.authorized)])
        #expect(talk.machine.deadline == Instant(milliseconds: 130_000))
        #expect(talk(71, .command(Self.home)) == [.error(.none), Self.join, .state(.provisioning)])
    }

    @Test func attemptsAreCounted() {
        var talk = Talk(Self.strict)
        _ = talk(0, .device(Self.fresh))
        _ = talk(0, .authorized)
        for _ in 1..<ImprovMachine.attempts {
            _ = talk(1, .command(Self.home))
            _ = talk(2, .joined(.failed("wrongKey")))
        }
        _ = talk(3, .command(Self.home))
        #expect(talk(4, .joined(.failed("wrongKey"))) == [.error(.unableToConnect), .state(.authorizationRequired)])
    }

    /// A second phone does not have the first one told that it failed.
    @Test func oneAttemptAtATime() {
        var talk = Talk(Self.strict)
        _ = talk(0, .device(Self.fresh))
        _ = talk(0, .authorized)
        _ = talk(1, .command(Self.home))
        #expect(talk(2, .command(Self.home)) == [])
        #expect(talk(2, .command(.scan)) == [.error(.notAuthorized)])
    }

    @Test func withoutTheAgentNothingIsPromised() {
        var talk = Talk(Self.strict)
        #expect(talk(0, .device(nil)) == [.state(.authorizationRequired)])
        #expect(talk(1, .authorized) == [.state(.authorized)])
        #expect(talk(2, .command(Self.home)) == [.error(.unableToConnect)])
        #expect(talk(2, .command(.deviceInfo)) == [.error(.unknown)])
        #expect(talk(3, .device(Self.fresh)) == [.advertise(true)])
        #expect(talk(4, .device(nil)) == [.advertise(false)])
    }

    @Test func aRestartOfTheAgentKeepsTheState() {
        var talk = Talk(Self.strict)
        _ = talk(0, .device(Self.provisioned))
        #expect(talk(1, .device(nil)) == [])
        #expect(talk.machine.state == .provisioned)
        #expect(talk(2, .command(.deviceInfo)) == [.error(.unknown)])
        #expect(talk(3, .device(Self.provisioned)) == [])
        // A join that ends meanwhile counts too.
        var joining = Talk(Self.strict)
        _ = joining(0, .device(Self.fresh))
        _ = joining(1, .authorized)
        _ = joining(2, .command(Self.home))
        #expect(joining(3, .device(nil)) == [.advertise(false)])
        let result = ImprovResult(.join, texts: [])
        #expect(joining(4, .joined(.connected(pages: []))) == [.state(.provisioned), .result(result)])
        #expect(joining(5, .device(Self.provisioned)) == [.advertise(true)])
    }

    @Test func whatIsAskedWithoutAuthorisation() {
        var talk = Talk(Self.strict)
        _ = talk(0, .device(Self.fresh))
        #expect(talk(1, .command(.identify)) == [.error(.none), .identify])
        let info = ImprovResult(.deviceInfo, texts: ["altnet", "0.1", "Pi", "pump-7"])
        #expect(talk(1, .command(.deviceInfo)) == [.error(.none), .result(info)])
        #expect(talk(1, .command(.scan)) == [.error(.notAuthorized)])
        #expect(talk(1, .command(.hostName)) == [.error(.notAuthorized)])
        #expect(talk(1, .refused(.unknownCommand)) == [.error(.unknownCommand)])
        #expect(talk.machine.error == .unknownCommand)
        _ = talk(2, .authorized)
        #expect(talk(3, .command(.hostName)) == [.error(.none), .result(ImprovResult(.hostName, texts: ["pump"]))])
        #expect(
            talk(3, .command(.deviceName)) == [.error(.none), .result(ImprovResult(.deviceName, texts: ["pump-7"]))])
    }

    private static let found = [
        ImprovNetwork(ssid: ssid("Home"), signal: -60, security: .wpa2),
        ImprovNetwork(ssid: ssid("Home"), signal: -70, security: .wpa2),
        ImprovNetwork(ssid: ssid("Cafe"), signal: -80, security: .open),
    ]

    @Test func aScan() {
        var talk = Talk(Self.strict)
        _ = talk(0, .device(Self.fresh))
        _ = talk(0, .authorized)
        #expect(talk(1, .command(.scan)) == [.error(.none), .scan])
        // Who asks meanwhile gets the same answer.
        #expect(talk(2, .command(.scan)) == [.error(.none)])
        #expect(
            talk(3, .scanned(Self.found))
                == [.result(ImprovResult(.scan, texts: ["Home", "-60", "WPA2", "Cafe", "-80", "NO"]))])
        _ = talk(4, .command(.scan))
        #expect(talk(5, .scanned(nil)) == [.error(.unknown)])
    }

    @Test func manyNetworksFitOneResult() {
        var talk = Talk(Self.strict)
        _ = talk(0, .device(Self.fresh))
        _ = talk(0, .authorized)
        _ = talk(1, .command(.scan))
        let many = (10..<60).map {
            ImprovNetwork(ssid: Self.ssid("Network number \($0)"), signal: -60, security: .wpa3)
        }
        guard case .result(let result)? = talk(2, .scanned(many)).first else { return #expect(Bool(false)) }
        #expect(result.texts.count == 27 && result.bytes.count <= 258)
    }

    /// The values of the specification: over BLE the kind of authentication (https://www.improv-wifi.com/ble/, "Request
    /// scanned Wi-Fi networks"), over serial `YES` or `NO` (https://www.improv-wifi.com/serial/, "Request scanned Wi-Fi networks").
    @Test func theSpecificationNamesTheSecurity() {
        let ofBLE = ["WEP", "WPA", "WPA2", "WPA2 EAP", "WPA3", "WAPI", "NO"]
        for security in Security.allCases {
            let isOpen = [.open, .owe].contains(security)
            #expect(security.improvName(over: .serial) == (isOpen ? "NO" : "YES"), "\(security)")
            let name = security.improvName(over: .bluetooth)
            #expect((name == "NO") == isOpen, "\(security)")
            // The specification's own example has two with a slash between them.
            #expect(ofBLE.contains(name) || name.split(separator: "/").allSatisfy { ofBLE.contains(String($0)) })
        }
    }

    /// The specification's example of a network: `MyWirelessNetwork`, `-60`, `YES`, and the empty result that ends the list
    /// (https://www.improv-wifi.com/serial/).
    @Test func theSpecificationsExampleOverSerial() throws {
        var talk = Talk(ImprovSettings(authorization: nil), .serial)
        _ = talk(0, .device(Self.fresh))
        _ = talk(1, .command(.scan))
        let network = ImprovNetwork(ssid: Self.ssid("MyWirelessNetwork"), signal: -60, security: .wpa2wpa3)
        let packets = talk(2, .scanned([network])).compactMap { effect in
            if case .result(let result) = effect { ImprovSerialPacket.result(result) } else { nil }
        }
        let data: [UInt8] =
            [4, 26, 17] + Array("MyWirelessNetwork".utf8) + [3] + Array("-60".utf8) + [3] + Array("YES".utf8)
        let begin: [UInt8] = Array("IMPROV".utf8) + [1, 4]
        #expect(
            packets.map { $0.dropLast(2) } == [
                (begin + [UInt8(data.count)] + data)[...], (begin + [2, 4, 0])[...],
            ])
        #expect(packets.allSatisfy { checksum($0.dropLast(2)) == $0.dropLast().last && $0.last == 0x0a })
    }

    @Test func overSerialTheCableIsTheAuthorisation() {
        var talk = Talk(ImprovSettings(authorization: nil), .serial)
        #expect(talk(0, .device(Self.fresh)) == [.state(.authorized), .advertise(true)])
        #expect(talk(1, .command(.currentState)) == [.error(.none), .state(.authorized)])
        #expect(talk(1, .command(.scan)) == [.error(.none), .scan])
        #expect(
            talk(2, .scanned(Self.found))
                == [
                    .result(ImprovResult(.scan, texts: ["Home", "-60", "YES"])),
                    .result(ImprovResult(.scan, texts: ["Cafe", "-80", "NO"])), .result(ImprovResult(.scan)),
                ])
        #expect(talk(3, .command(Self.home)) == [.error(.none), Self.join, .state(.provisioning)])
        let page = ["http://10.0.0.2/"]
        #expect(
            talk(4, .joined(.connected(pages: page))) == [
                .state(.provisioned), .result(ImprovResult(.join, texts: page)),
            ])
        #expect(
            talk(5, .command(.currentState)) == [
                .error(.none), .state(.provisioned), .result(ImprovResult(.identifyOrCurrentState, texts: page)),
            ])
        // Another network can follow, for the cable is still there.
        #expect(talk(6, .command(Self.home)) == [.error(.none), Self.join, .state(.provisioning)])
        #expect(talk(7, .joined(.failed("notFound"))) == [.error(.unableToConnect), .state(.provisioned)])
    }
}
