import Testing

@testable import Improv

@Suite struct AdapterPowerTests {
    private static func adapter(_ isPowered: Bool, _ name: String = "hci0") -> BlueZAdapter {
        BlueZAdapter(path: "/org/bluez/" + name, isPowered: isPowered)
    }

    @Test func anAdapterIsPoweredOnOnce() {
        var power = AdapterPower()
        #expect(power.step(for: Self.adapter(false), of: ":1.4") == .powerOn)
        // The registration failed.
        #expect(power.step(for: Self.adapter(false), of: ":1.4") == .powerOn)
        power.use(Self.adapter(false), of: ":1.4")
        // The user switches it off.
        #expect(power.step(for: Self.adapter(false), of: ":1.4") == .wait)
        #expect(power.awaited == "/org/bluez/hci0")
        #expect(power.step(for: Self.adapter(true), of: ":1.4") == .use)
        #expect(power.awaited == nil)
    }

    @Test func anotherAdapterOrDaemonIsPoweredOn() {
        var power = AdapterPower()
        power.use(Self.adapter(true), of: ":1.4")
        #expect(power.step(for: Self.adapter(false, "hci1"), of: ":1.4") == .powerOn)
        #expect(power.step(for: Self.adapter(false), of: ":1.9") == .powerOn)
        #expect(power.awaited == nil)
    }
}
