import AgentModel
import Testing

@testable import Lab

/// Reading the kernel's files (proc(5)).
@Suite struct MeasureTests {
    @Test func memoryOfProcessesIsAdded() {
        let rollup = """
            55d6b1c00000-7ffd3c5fe000 ---p 00000000 00:00 0                          [rollup]
            Rss:                3460 kB
            Pss:                1102 kB
            Pss_Dirty:           312 kB
            Pss_Anon:            300 kB
            Pss_File:            802 kB
            Pss_Shmem:            12 kB
            Anonymous:           300 kB

            """
        let memory = ProcessMemory(rollups: [rollup, rollup])
        #expect(memory.proportional == 2204)
        #expect(memory.anonymous == 600)
        #expect(memory.dirty == 600)
    }

    @Test func theWorkOfAThreadIsRead() {
        let status = "Name:\taltnet\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t5\n"
        let work = ProcessWork(status: status, schedule: "12000000 500 155\n")
        #expect(work == ProcessWork(switches: 155, processorTime: .milliseconds(12)))
        #expect(work - work == ProcessWork())
        #expect(work + work == ProcessWork(switches: 310, processorTime: .milliseconds(24)))
        #expect(ProcessWork(status: "", schedule: "") == ProcessWork())
    }

    @Test func aThreadThatIsGoneCountsWithWhatWasSeenOfItLast() {
        var tally = WorkTally([1: ProcessWork(switches: 100)])
        #expect(tally.work == ProcessWork())
        tally.record([1: ProcessWork(switches: 103), 2: ProcessWork(switches: 5, processorTime: .milliseconds(1))])
        tally.record([1: ProcessWork(switches: 104), 3: ProcessWork(switches: 2)])
        #expect(tally.work == ProcessWork(switches: 11, processorTime: .milliseconds(1)))
    }

    @Test func memoryIsUsedAsTheUnitSays() {
        let unit = "[Service]\nEnvironment=A=1\nEnvironment=MALLOC_ARENA_MAX=1 MALLOC_X=\n# Environment=MALLOC_Y=2\n"
        #expect(UnitEnvironment.memory(in: unit) == ["MALLOC_ARENA_MAX": "1", "MALLOC_X": ""])
        #expect(UnitEnvironment.memory["MALLOC_ARENA_MAX"] == "1")
    }

    @Test func theDiskIsFoundWhereItIsMounted() {
        let mounts = "overlay / overlay rw 0 0\n/dev/loop0 /run/disk ext4 rw 0 0\n/dev/loop1 /run/disk2 ext4 rw 0 0\n"
        #expect(Disk.device(at: "/run/disk", in: mounts) == "loop0")
        #expect(Disk.device(at: "/", in: mounts) == nil)
    }

    @Test func sectorsWrittenAreTheSeventhFigure() {
        let statistics =
            "      98       12     2530       40       31        7      412      120        0      100      160\n"
        #expect(Disk.sectorsWritten(statistics) == 412)
        #expect(Disk.sectorsWritten("1 2 3") == nil)
    }

    /// Frames as mac80211_hwsim writes them of a station and of others.
    @Test func theAirThatAStationTakesIsCounted() throws {
        let (station, other) = (try #require(BSSID("02:00:00:00:00:00")), try #require(BSSID("02:00:00:00:01:00")))
        func record(_ radiotap: [UInt8], _ frame: [UInt8]) -> [UInt8] {
            let length = UInt8(radiotap.count + frame.count)
            return [0, 0, 0, 0, 0, 0, 0, 0, length, 0, 0, 0, length, 0, 0, 0] + radiotap + frame
        }
        // Clock, flags, rate, channel.
        func heard(rate: UInt8) -> [UInt8] {
            [0, 0, 22, 0, 0x0f, 0, 0, 0] + [UInt8](repeating: 0, count: 9) + [rate, 0, 0, 0, 0]
        }
        let acknowledged: [UInt8] = [0, 0, 14, 0, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        let null: [UInt8] = [0x48, 0x11, 0, 0] + other.bytes + station.bytes + other.bytes + [0, 0]
        let beacon: [UInt8] = [0x80, 0, 0, 0] + [UInt8](repeating: 255, count: 6) + other.bytes + other.bytes + [0, 0]
        let packets =
            record(heard(rate: 108), null) + record(heard(rate: 2), beacon)
            + record(acknowledged, [0xd4, 0, 0, 0] + station.bytes)
        let use = AirUse(of: station, in: packets)
        #expect(use.frames == 2)
        // 28 bytes at 54 Mbit/s are two symbols; 14 at 6 Mbit/s are six.
        #expect(use.time == .microseconds(20 + 8 + 20 + 24))
        for count in packets.indices { _ = AirUse(of: station, in: Array(packets.prefix(count))) }
        #expect(AirUse.time(of: 96, rate: 2) == .microseconds(192 + 800), "at 1 Mbit/s")
    }
}
