import Glibc
import Lab
import Testing

extension Radios {
    /// What goes wrong with radios that have firmware of their own, at the kernel's driver for the Raspberry Pi's.
    @Suite(.onFullMAC) struct RadioFaultTests {
        private func radio(of lab: Lab) throws -> FullMACRadio { try #require(lab.fullMAC) }

        /// The access point is innocent, so the device goes back to the network that it was on: within 1 s after the radio
        /// is back.
        @Test func firmwareCrashes() async throws {
            try await scenario("firmware crashes", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                try await radio(of: lab).crash(for: .seconds(5))
                try await expectReturn(of: house, since: mark, "firmware crash")
            }
        }

        @Test(.extended) func pluggedOutAndIn() async throws {
            try await scenario("radio unplugged and plugged", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                let radio = try radio(of: lab)
                try await radio.unplug()
                try await house.pinger.silence(of: .seconds(3), within: .seconds(10))
                #expect(lab.station.currentInterface == nil)
                try await radio.plug()
                try await expectReturn(of: house, since: mark, "plugged in again")

                // And the next failover works.
                try await house.expectFailover(within: .seconds(20))
            }
        }

        /// A backup on a channel that is known is joined without a scan: within 5 s after it appears. Each is told once, and
        /// neither the scans nor the joins that they were wanted for are held against an access point.
        @Test func scansAreRefused() async throws {
            try await scenario("scans are refused", accessPoints: 2) { lab in
                let house = try await House(lab)
                let radio = try radio(of: lab)
                let mark = house.mark
                try await house.backup.powerOff()
                await radio.refuseScans()
                try await house.home.powerOff()
                try await house.device.decision("lost", since: mark, within: .seconds(10))
                try await house.backup.powerOn()
                let appeared = ContinuousClock.now
                try await house.device.online(on: house.backup, within: .seconds(5))
                lab.report("altnet: backup appears while scans are refused, until online", .now - appeared)
                try await house.expectTraffic(through: house.backup)
                try await Task.sleep(until: appeared + .seconds(60))
                #expect(await house.device.warnings("refuses scans") == 1, "told once")
                let faults = house.device.decisions.dropFirst(mark).filter {
                    ["blocked", "failed"].contains($0.kind.rawValue)
                }
                #expect(faults.isEmpty)
                await radio.refuseScans(false)
                try await house.device.online(on: house.backup, within: .seconds(5))
                try await house.expectTraffic(through: house.backup)
            }
        }

        /// The driver gives up a scan after 10 s, with no results. What was heard before is enough to join the backup.
        @Test(.extended) func scansDoNotEnd() async throws {
            try await scenario("scans do not end", accessPoints: 2) { lab in
                let house = try await House(lab)
                let radio = try radio(of: lab)
                await radio.endlessScans()
                let (mark, cut) = (house.mark, ContinuousClock.now)
                try await house.home.powerOff()
                try await house.device.online(on: house.backup, within: .seconds(30))
                lab.report("altnet: power cut to online while scans do not end", .now - cut)
                try await house.expectTraffic(through: house.backup)
                house.expectWay([house.backup], since: mark)
                await radio.endlessScans(false)
            }
        }

        /// A radio whose firmware answers no command is noticed within 10 s, although data flow.
        @Test func firmwareHangs() async throws {
            try await scenario("firmware hangs", accessPoints: 2) { lab in
                let house = try await House(lab)
                let radio = try radio(of: lab)
                await radio.hang()
                let hung = ContinuousClock.now
                try await Task.sleep(for: .seconds(4))
                #expect(house.pinger.longestGap(since: hung) < .seconds(1), "data flow")
                try await eventually(within: .seconds(6), "the device to notice") {
                    await house.device.log.contains("does not answer commands")
                }
                // Only its plug helps, or an end of its power.
                try await radio.unplug()
                try await Task.sleep(for: .seconds(1))
                let mark = house.mark
                try await radio.plug()
                try await expectReturn(of: house, since: mark, "hung firmware unplugged and plugged")
            }
        }

        /// What power save costs that the driver switches on by itself: what comes for a device that has been silent for 2 s
        /// waits for the next beacon. It is off unless the owner says otherwise.
        @Test(.extended, arguments: ["off", "on"]) func powerSaveCosts(_ setting: String) async throws {
            try await scenario("power save \(setting)") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                try await home.powerOn()
                _ = try await Device.atHome(home, in: lab, settings: ["ALTNET_POWER_SAVE": setting])
                let address = try #require(await lab.station.address)
                let pinger = try await home.pinger(to: address, every: .milliseconds(3100))
                try await eventually(within: .seconds(60), "ten pings") { pinger.roundTrips.count >= 10 }
                pinger.end()
                let times = pinger.roundTrips
                let (mean, longest) = (times.reduce(.zero, +) / times.count, times.max() ?? .zero)
                lab.report("altnet: power save \(setting), a ping each 3 s from outside, mean", mean)
                lab.report("altnet: power save \(setting), longest", longest)
                #expect(setting == "on" ? longest > .milliseconds(20) : longest < .milliseconds(20))
            }
        }

        /// Set down and up it answers no more than before, so its driver is rebound, which loads the firmware. Frames flow
        /// until then, so it has a minute to recover by itself.
        @Test(.extended) func aHungRadiosDriverIsRebound() async throws {
            let project = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
            try await scenario("driver is rebound", accessPoints: 2) { lab in
                let helper = try await lab.radioHelper(project + "/board/systemd/altnet-radio")
                defer { helper.end() }
                let house = try await House(lab)
                let before = RadioFaultTests.index(of: lab.station.interface)
                let (mark, hung) = (house.mark, ContinuousClock.now)
                try await radio(of: lab).hang()
                try await eventually(within: .seconds(180), "the driver to be rebound") {
                    await house.device.log.contains("rebinding its driver")
                }
                lab.report("altnet: firmware hangs, until its driver is rebound", .now - hung)
                let bound = ContinuousClock.now
                let reply = try await house.pinger.reply(after: bound + .seconds(1), within: .seconds(60))
                lab.report("altnet: driver rebound, from the order to a ping", reply - bound)
                try await house.device.online(on: house.home, within: .seconds(10))
                #expect(RadioFaultTests.index(of: lab.station.interface) != before, "it has been made anew")
                #expect(house.device.stations(since: mark).first == house.home.ssid, "no access point is blamed")
                #expect(await !house.device.log.contains("rebinding its driver failed"))
                try await eventually(within: .seconds(60), "the fault to be over") {
                    await house.device.log.contains("works again")
                }
                try await house.expectFailover(within: .seconds(20))
            }
        }

        private static func index(of interface: String) -> UInt32 { if_nametoindex(interface) }

        /// The radio is back: the device is online again soon, at home, and data flow.
        private func expectReturn(of house: House, since mark: Int, _ what: String) async throws {
            let back = ContinuousClock.now
            try await eventually(within: .seconds(30), "the device to be online again") {
                house.device.stations(since: mark) != []
            }
            let reply = try await house.pinger.reply(after: back, within: .seconds(5))
            house.lab.report("altnet: \(what), from the radio's return to the first ping", reply - back)
            #expect(house.device.stations(since: mark).first == house.home.ssid, "no access point is blamed")
            #expect(reply - back <= .seconds(1))
            try await house.device.online(on: house.home, within: .seconds(120))
            try await house.expectTraffic(through: house.home)
        }
    }
}

extension Device {
    /// How many lines of its log warn of this.
    fileprivate func warnings(_ text: String) -> Int {
        log.split(separator: "\n").count { $0.contains(" warning ") && $0.contains(text) }
    }
}
